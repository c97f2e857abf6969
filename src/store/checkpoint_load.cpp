// Reading checkpoints: what a rank wants of a plan's pieces, and whether all that is there is whole.
#include <map>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/checkpoint.hpp"
#include "store/checkpoint_reader.hpp"
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
    CheckpointReader reader(path, window);
    std::vector<int64_t> numbers;
    name_file(path, [&] { numbers = find_tensors(tensors, reader.tensors()); });
    for (const auto& piece : pieces) {
      GALV_ASSERT(piece.tensor >= 0 && piece.tensor < static_cast<int64_t>(tensors.size()), piece.tensor);
      const auto elements = tensors[static_cast<size_t>(piece.tensor)].elements();
      const auto last = piece.stretch(piece.times - 1).offset;
      GALV_ASSERT(piece.times >= 1 && piece.offset >= 0 && piece.offset <= last && piece.count >= 0 &&
                      last <= elements - piece.count,
                  piece.tensor, piece.offset, last, piece.count, elements);
      for (int64_t time = 0; time < piece.times; ++time) {
        const auto stretch = piece.stretch(time);
        reader.read(numbers[static_cast<size_t>(piece.tensor)], stretch.offset, stretch.count, stretch.data);
      }
    }
  });
}

}  // namespace galvatron::store
