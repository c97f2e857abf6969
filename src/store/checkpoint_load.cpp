// Reading checkpoints: any stretch of any tensor, with the hash of every block that it touches.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/checkpoint.hpp"
#include "store/checkpoint_schema.hpp"
#include "store/checkpoint_verify.hpp"
#include "store/sealed_file.hpp"

namespace galvatron::store {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw core::UserError(core::ExitCode::checkpoint, text);
}

std::string shape_text(const TensorInfo& tensor) {
  std::vector<std::string> extents;
  for (const auto extent : tensor.shape) extents.push_back(std::to_string(extent));
  return std::string(core::name(tensor.dtype)) + " [" + core::join(extents, ", ") + "]";
}

/// A row's place in the table, for messages.
std::string block_text(const BlockRow& row, const std::string& tensor) {
  return core::format("tensor '{}', block of elements {} to {} at byte {}, written by rank {}", tensor,
                      row.offset, row.offset + row.count, row.address, row.writer);
}

/// Copies stretches out of a sealed file. The last block read in part stays in memory, because neighbours
/// often want the rest of it.
class Reader {
 public:
  Reader(const SealedFile& sealed, const std::vector<TensorInfo>& tensors, device::HostWindow* window)
      : sealed_(sealed), tensors_(tensors), window_(window), hashes_(sealed.file, sealed.table) {
    for (const auto& run : sealed.runs) {
      const auto last = run.row(run.times - 1);
      const auto end = last.offset + last.count;
      const bool same = !reach_.empty() && sealed.runs[reach_.size() - 1].first.tensor == run.first.tensor;
      reach_.push_back(same ? std::max(reach_.back(), end) : end);
    }
  }

  void read(int64_t tensor, int64_t offset, int64_t count, std::byte* out) {
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

 private:
  struct Found {
    BlockRow row;
    int64_t index = 0;
  };

  /// The row that holds the element.
  std::optional<Found> find(int64_t tensor, int64_t offset) const {
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

  const std::byte* whole_block(const BlockRow& row, int64_t index) {
    if (in_scratch_ != index) {
      in_scratch_ = -1;
      if (!row_is_whole(sealed_.file, row, scratch_)) damaged(row);
      in_scratch_ = index;
    }
    return scratch_.data();
  }

  [[noreturn]] void damaged(const BlockRow& row) const {
    refuse("damaged: " + block_text(row, tensors_[static_cast<size_t>(row.tensor)].name));
  }

  const SealedFile& sealed_;
  const std::vector<TensorInfo>& tensors_;
  device::HostWindow* window_;
  RowHashes hashes_;
  std::vector<int64_t> reach_;  ///< per run: where it and those of the tensor before it end
  int64_t in_scratch_ = -1;
  std::vector<std::byte> scratch_;
};

/// For each wanted tensor its number in the file.
std::vector<int64_t> find_tensors(const std::vector<TensorInfo>& wanted,
                                  const std::vector<TensorInfo>& held) {
  std::map<std::string_view, int64_t> numbers;
  for (size_t i = 0; i < held.size(); ++i) numbers[held[i].name] = static_cast<int64_t>(i);
  std::vector<int64_t> found;
  for (const auto& tensor : wanted) {
    const auto entry = numbers.find(tensor.name);
    if (entry == numbers.end()) refuse("holds no tensor '" + tensor.name + "'");
    const auto& there = held[static_cast<size_t>(entry->second)];
    if (there != tensor)
      refuse(core::format("tensor '{}' is {} there, the model wants {}", tensor.name, shape_text(there),
                          shape_text(tensor)));
    found.push_back(entry->second);
  }
  return found;
}

}  // namespace

CheckpointState read_state(const std::filesystem::path& path) {
  open_sealed(path, SealedKind::checkpoint);
  return state_in(path);
}

std::vector<TensorInfo> read_tensors(const std::filesystem::path& path) {
  open_sealed(path, SealedKind::checkpoint);
  return tensors_in(path);
}

void verify_checkpoint(const std::filesystem::path& path) {
  verify_share(path, 0, 1);
}

void verify_share(const std::filesystem::path& path, int64_t share, int64_t shares) {
  const auto sealed = open_sealed(path, SealedKind::checkpoint);
  name_file(path, [&] {
    SealedRows rows(sealed);
    for (int64_t number = 0;; ++number) {
      const auto found = rows.next();
      if (!found) break;
      const auto& row = *found;
      if (number % shares != share || row_is_whole(sealed.file, row)) continue;
      const auto tensors = tensors_in(path);
      const auto known = row.tensor >= 0 && row.tensor < static_cast<int64_t>(tensors.size());
      refuse("damaged: " + block_text(row, known ? tensors[static_cast<size_t>(row.tensor)].name : "?"));
    }
  });
}

void load_checkpoint(comm::World& world, const std::filesystem::path& path,
                     const std::vector<TensorInfo>& tensors, std::span<const Piece> pieces,
                     device::HostWindow* window) {
  world.agree("load a checkpoint", [&] {
    const auto sealed = open_sealed(path, SealedKind::checkpoint);
    const auto held = tensors_in(path);
    name_file(path, [&] {
      const auto numbers = find_tensors(tensors, held);
      Reader reader(sealed, held, window);
      for (const auto& piece : pieces) {
        GALV_ASSERT(piece.tensor >= 0 && piece.tensor < static_cast<int64_t>(tensors.size()), piece.tensor);
        const auto elements = tensors[static_cast<size_t>(piece.tensor)].elements();
        const auto last = piece.stretch(piece.times - 1).offset;
        GALV_ASSERT(piece.times >= 1 && piece.offset >= 0 && piece.offset <= last && piece.count >= 0 &&
                        last <= elements - piece.count,
                    piece.tensor, piece.offset, last, piece.count, elements);
        for (int64_t time = 0; time < piece.times; ++time) {
          const auto stretch = piece.stretch(time);
          reader.read(numbers[static_cast<size_t>(piece.tensor)], stretch.offset, stretch.count,
                      stretch.data);
        }
      }
    });
  });
}

}  // namespace galvatron::store
