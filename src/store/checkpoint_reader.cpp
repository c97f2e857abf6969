// A block is believed only with its hash, so a part of one costs all of it; the table says where it is.
#include "store/checkpoint_reader.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "device/host_window.hpp"
#include "store/checkpoint_schema.hpp"

namespace galvatron::store {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw core::UserError(core::ExitCode::checkpoint, text);
}

}  // namespace

std::string block_text(const BlockRow& row, const std::string& tensor) {
  return core::format("tensor '{}', block of elements {} to {} at byte {}, written by rank {}", tensor,
                      row.offset, row.offset + row.count, row.address, row.writer);
}

CheckpointReader::CheckpointReader(const std::filesystem::path& path, device::HostWindow* window)
    : path_(path),
      sealed_(open_sealed(path, SealedKind::checkpoint)),
      tensors_(tensors_in(path)),
      window_(window),
      hashes_(sealed_.file, sealed_.table) {
  for (const auto& run : sealed_.runs) {
    const auto last = run.row(run.times - 1);
    const auto end = last.offset + last.count;
    const bool same = !reach_.empty() && sealed_.runs[reach_.size() - 1].first.tensor == run.first.tensor;
    reach_.push_back(same ? std::max(reach_.back(), end) : end);
  }
}

void CheckpointReader::read(int64_t tensor, int64_t offset, int64_t count, std::byte* out) {
  GALV_ASSERT(tensor >= 0 && tensor < static_cast<int64_t>(tensors_.size()), tensor);
  name_file(path_, [&] { copy(tensor, offset, count, out); });
}

void CheckpointReader::copy(int64_t tensor, int64_t offset, int64_t count, std::byte* out) {
  const auto& info = tensors_[static_cast<size_t>(tensor)];
  const auto size = core::size_of(info.dtype);
  for (const int64_t end = offset + count; offset < end;) {
    const auto found = find(tensor, offset);
    if (!found || found->row.bytes != found->row.count * size)
      refuse(core::format("no block holds element {} of tensor '{}'", offset, info.name));
    auto row = found->row;
    row.hash = hashes_.of(found->index);
    const auto upto = std::min(end, row.offset + row.count);
    const auto bytes = (upto - offset) * size;
    const auto room = window_ ? window_->edit(out, bytes) : std::span(out, static_cast<size_t>(bytes));
    if (bytes == row.bytes) {
      sealed_.file.read(row.address, room);
      if (hash_of(room) != row.hash) damaged(row);
    } else {
      std::memcpy(room.data(), whole_block(row, found->index) + (offset - row.offset) * size, room.size());
    }
    if (window_) window_->put_back();
    out += bytes;
    offset = upto;
  }
}

/// The row that holds the element.
std::optional<CheckpointReader::Found> CheckpointReader::find(int64_t tensor, int64_t offset) const {
  const auto& runs = sealed_.runs;
  const auto behind = std::upper_bound(runs.begin(), runs.end(), std::pair(tensor, offset),
                                       [](const auto& key, const BlockRun& run) {
                                         return key < std::pair(run.first.tensor, run.first.offset);
                                       });
  for (auto i = static_cast<size_t>(behind - runs.begin()); i > 0; --i) {
    const auto& run = runs[i - 1];
    if (run.first.tensor != tensor || reach_[i - 1] <= offset) break;
    const auto time = run.times > 1 ? std::min((offset - run.first.offset) / run.stride, run.times - 1) : 0;
    const auto row = run.row(time);
    if (offset < row.offset + row.count) return Found{row, run.index + time};
  }
  return std::nullopt;
}

const std::byte* CheckpointReader::whole_block(const BlockRow& row, int64_t index) {
  if (in_scratch_ != index) {
    in_scratch_ = -1;
    if (!row_is_whole(sealed_.file, row, scratch_)) damaged(row);
    in_scratch_ = index;
  }
  return scratch_.data();
}

void CheckpointReader::damaged(const BlockRow& row) const {
  refuse("damaged: " + block_text(row, tensors_[static_cast<size_t>(row.tensor)].name));
}

}  // namespace galvatron::store
