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
      : sealed_(sealed), tensors_(tensors), window_(window) {}

  void read(int64_t tensor, int64_t offset, int64_t count, std::byte* out) {
    const auto& info = tensors_[static_cast<size_t>(tensor)];
    const auto size = core::size_of(info.dtype);
    auto row = first_row(tensor, offset);
    for (const int64_t end = offset + count; offset < end; ++row) {
      if (row == sealed_.rows.end() || row->tensor != tensor || row->offset > offset ||
          row->offset + row->count <= offset || row->bytes != row->count * size)
        refuse(core::format("no block holds element {} of tensor '{}'", offset, info.name));
      const auto upto = std::min(end, row->offset + row->count);
      const auto bytes = (upto - offset) * size;
      const auto room = window_ ? window_->edit(out, bytes) : std::span(out, static_cast<size_t>(bytes));
      if (bytes == row->bytes) {
        sealed_.file.read(row->address, room);
        if (hash_of(room) != row->hash) damaged(*row);
      } else {
        std::memcpy(room.data(), whole_block(*row) + (offset - row->offset) * size, room.size());
      }
      if (window_) window_->put_back();
      out += bytes;
      offset = upto;
    }
  }

 private:
  std::vector<BlockRow>::const_iterator first_row(int64_t tensor, int64_t offset) const {
    const auto behind = std::upper_bound(
        sealed_.rows.begin(), sealed_.rows.end(), std::pair(tensor, offset),
        [](const auto& key, const BlockRow& row) { return key < std::pair(row.tensor, row.offset); });
    return behind == sealed_.rows.begin() ? behind : behind - 1;
  }

  const std::byte* whole_block(const BlockRow& row) {
    if (in_scratch_ != &row) {
      in_scratch_ = nullptr;
      if (!row_is_whole(sealed_.file, row, scratch_)) damaged(row);
      in_scratch_ = &row;
    }
    return scratch_.data();
  }

  [[noreturn]] void damaged(const BlockRow& row) const {
    refuse("damaged: " + block_text(row, tensors_[static_cast<size_t>(row.tensor)].name));
  }

  const SealedFile& sealed_;
  const std::vector<TensorInfo>& tensors_;
  device::HostWindow* window_;
  const BlockRow* in_scratch_ = nullptr;
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
    for (size_t i = static_cast<size_t>(share); i < sealed.rows.size(); i += static_cast<size_t>(shares)) {
      const auto& row = sealed.rows[i];
      if (row_is_whole(sealed.file, row)) continue;
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
        GALV_ASSERT(piece.offset >= 0 && piece.count >= 0 && piece.offset <= elements - piece.count,
                    piece.tensor, piece.offset, piece.count, elements);
        reader.read(numbers[static_cast<size_t>(piece.tensor)], piece.offset, piece.count, piece.data);
      }
    });
  });
}

}  // namespace galvatron::store
