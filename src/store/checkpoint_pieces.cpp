// Arithmetic on stretches. Its errors are defects of the caller, so they name ranks and elements.
#include "store/checkpoint_pieces.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::store {
namespace {

struct Claim {
  Stretch stretch;
  int64_t rank = 0;
};

int64_t elements_per_block(const TensorInfo& tensor) {
  return block_bytes / core::size_of(tensor.dtype);
}

std::vector<Claim> sorted_claims(const std::vector<TensorInfo>& tensors,
                                 const std::vector<std::vector<Stretch>>& ranks) {
  std::vector<Claim> claims;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const auto& s : ranks[rank]) {
      if (s.tensor < 0 || s.tensor >= static_cast<int64_t>(tensors.size()))
        throw core::InternalError(
            core::format("rank {} has a piece of tensor number {} of {}", rank, s.tensor, tensors.size()));
      const auto& tensor = tensors[s.tensor];
      if (s.offset < 0 || s.count < 0 || s.offset > tensor.elements() - s.count)
        throw core::InternalError(core::format("rank {} has elements {} to {} of tensor '{}', which has {}",
                                               rank, s.offset, s.offset + s.count, tensor.name,
                                               tensor.elements()));
      if (s.count > 0) claims.push_back({s, static_cast<int64_t>(rank)});
    }
  }
  std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) {
    return std::tie(a.stretch.tensor, a.stretch.offset, a.rank) <
           std::tie(b.stretch.tensor, b.stretch.offset, b.rank);
  });
  return claims;
}

}  // namespace

std::vector<std::vector<Stretch>> gather_stretches(comm::World& world, std::span<const Piece> pieces) {
  std::string mine(pieces.size() * sizeof(Stretch), '\0');
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Stretch stretch{pieces[i].tensor, pieces[i].offset, pieces[i].count};
    std::memcpy(mine.data() + i * sizeof(Stretch), &stretch, sizeof(Stretch));
  }
  std::vector<std::vector<Stretch>> ranks;
  for (const auto& text : world.all_gather(mine)) {
    auto& stretches = ranks.emplace_back(text.size() / sizeof(Stretch));
    if (!text.empty()) std::memcpy(stretches.data(), text.data(), text.size());
  }
  return ranks;
}

void check_coverage(const std::vector<TensorInfo>& tensors, const std::vector<std::vector<Stretch>>& ranks) {
  const auto claims = sorted_claims(tensors, ranks);
  size_t next = 0;
  for (size_t t = 0; t < tensors.size(); ++t) {
    int64_t at = 0;
    int64_t before = -1;
    const auto nobody = [&](int64_t end) {
      throw core::InternalError(
          core::format("tensor '{}': elements {} to {} are given by no rank", tensors[t].name, at, end));
    };
    for (; next < claims.size() && claims[next].stretch.tensor == static_cast<int64_t>(t); ++next) {
      const auto& [stretch, rank] = claims[next];
      if (stretch.offset > at) nobody(stretch.offset);
      if (stretch.offset < at)
        throw core::InternalError(core::format("tensor '{}': element {} is given by ranks {} and {}",
                                               tensors[t].name, stretch.offset, before, rank));
      at += stretch.count;
      before = rank;
    }
    if (at < tensors[t].elements()) nobody(tensors[t].elements());
  }
}

std::vector<BlockRow> rows_of(const std::vector<TensorInfo>& tensors, const std::vector<Stretch>& stretches,
                              int64_t writer, const Layout& layout) {
  std::vector<BlockRow> rows;
  for (const auto& stretch : stretches) {
    const auto& tensor = tensors[stretch.tensor];
    const auto size = core::size_of(tensor.dtype);
    const auto most = elements_per_block(tensor);
    for (int64_t done = 0; done < stretch.count; done += most) {
      BlockRow row;
      row.tensor = stretch.tensor;
      row.offset = stretch.offset + done;
      row.count = std::min(most, stretch.count - done);
      row.address = layout.tensors[stretch.tensor] + row.offset * size;
      row.bytes = row.count * size;
      row.writer = writer;
      rows.push_back(row);
    }
  }
  return rows;
}

int64_t row_count(const std::vector<TensorInfo>& tensors, const std::vector<Stretch>& stretches) {
  int64_t rows = 0;
  for (const auto& stretch : stretches) {
    const auto most = elements_per_block(tensors[stretch.tensor]);
    rows += (stretch.count + most - 1) / most;
  }
  return rows;
}

}  // namespace galvatron::store
