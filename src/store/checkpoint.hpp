#pragma once
// Checkpoints hold global tensors by name and nothing of the plan: whoever writes says which stretch of which
// tensor it has, whoever reads says which it needs, so any plan on any number of ranks resumes any other's
// file. The file is an ordinary HDF5 file; docs/files.md has the schema. A block table with hashes covers
// every byte, so that damage is found before it trains on.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/world.hpp"
#include "core/dtype.hpp"
#include "device/host_window.hpp"

namespace galvatron::store {

/// A global tensor. `name` is its HDF5 path below the root: "model/blocks.0.attention.q.weight",
/// "optimizer/blocks.0.attention.q.weight/exp_avg". An empty shape is a scalar.
struct TensorInfo {
  std::string name;
  std::vector<int64_t> shape;
  core::DType dtype = core::DType::f32;

  int64_t elements() const;
  bool operator==(const TensorInfo&) const = default;
};

/// `count` elements of tensor number `tensor` of the list given beside it, from flat (row-major) element
/// `offset` on, contiguous at `data`: memory of the device whose window is given beside it, else the host's.
/// And such a stretch again `times` times in all, each `stride` elements behind the one before, and
/// `data_stride` bytes in memory: tensors that are cut by columns are one piece, however many rows they have.
/// Saving only reads `data`.
struct Piece {
  int64_t tensor = 0;
  int64_t offset = 0;
  int64_t count = 0;
  std::byte* data = nullptr;
  int64_t times = 1;
  int64_t stride = 0;
  int64_t data_stride = 0;

  int64_t elements() const { return times * count; }
  /// Stretch number `time` alone.
  Piece stretch(int64_t time) const {
    return {tensor, offset + time * stride, count, data + time * data_stride};
  }
};

/// What a resume needs beside the tensors.
struct CheckpointState {
  int64_t step = 0;
  int64_t samples = 0;  ///< consumed so far: the position in the sample order
  int64_t seed = 0;
  std::string run;   ///< RunFolder::id() of the writer; only its own files are ever pruned
  std::string deck;  ///< the effective deck, as text
  std::string plan;  ///< plan.toml, as text
  std::string build;
  std::string model_fingerprint;
  std::map<std::string, std::string> more;  ///< keys without '/'

  bool operator==(const CheckpointState&) const = default;
};

/// How ranks share the file, which rank 0 has laid out with the serial HDF5 driver and closed before, so that
/// no two HDF5 writers share a file and parallel HDF5's known hangs cannot occur. `aggregate`: every rank
/// writes its own bytes at their place with plain calls. `independent`, `collective`: the same through MPI's
/// own input and output, each rank for itself or all together. `automatic` is `aggregate`.
enum class CheckpointIo { automatic, aggregate, independent, collective };

/// From the deck's checkpoint.io. Throws UserError (usage) naming the legal values.
CheckpointIo parse_checkpoint_io(const std::string& text);
std::string_view name_of(CheckpointIo io);

struct CheckpointOptions {
  CheckpointIo io = CheckpointIo::automatic;
  /// After a successful save keep this many newest files of this run in the folder; 0 keeps all.
  int64_t keep = 0;
  /// Files of steps that this divides are never pruned; 0: none is spared.
  int64_t keep_every = 0;
  /// How to look at the pieces' memory; null: it is the host's.
  device::HostWindow* window = nullptr;
  /// Hears what is being done, block after block: for a watchdog.
  std::function<void(std::string_view)> progress = [](std::string_view) {};
};

enum class SaveOutcome {
  saved,
  /// Disk full, quota, I/O error: the old files are untouched and the run may go on. See `problem`.
  failed,
};

/// The same on every rank.
struct SaveReport {
  SaveOutcome outcome = SaveOutcome::saved;
  double seconds = 0.0;
  int64_t bytes = 0;  ///< size of the file
  std::string problem;
  std::string remark;  ///< what a reader of the log should know of a save that succeeded
  std::vector<std::filesystem::path> pruned;
};

/// Collective. Writes `path`.tmp, syncs it, reads it back and compares, and only then renames it to `path`.
/// The folder must exist and be visible to every node. `tensors` and `state` are the same on every rank; the
/// ranks' pieces together cover every element exactly once, else AgreedError (internal) naming the tensor.
/// A failing disk does not throw: see SaveOutcome. What MPI's input and output failed to write, or wrote
/// wrong, is written once more with plain calls, see SaveReport::remark.
SaveReport save_checkpoint(comm::World& world, const std::filesystem::path& path,
                           const CheckpointState& state, const std::vector<TensorInfo>& tensors,
                           std::span<const Piece> pieces, const CheckpointOptions& options);

/// Local. Magic, sizes and the digest of everything but tensor data are checked before HDF5 sees the file.
/// These three throw UserError (checkpoint, exit code 6) naming the file and what is wrong with it.
CheckpointState read_state(const std::filesystem::path& path);
/// In the order in which they were given to save_checkpoint.
std::vector<TensorInfo> read_tensors(const std::filesystem::path& path);
/// Reads the whole file and compares every block's hash.
void verify_checkpoint(const std::filesystem::path& path);

/// Collective: reads are local, the outcome is agreed. Every rank asks for what it needs, from a list of
/// tensors that the file must hold with the same shape and element type (it may hold more). Throws
/// AgreedError with exit code 6 naming file, tensor and block on damage. On failure the pieces' memory is
/// unspecified. `window` as in CheckpointOptions.
void load_checkpoint(comm::World& world, const std::filesystem::path& path,
                     const std::vector<TensorInfo>& tensors, std::span<const Piece> pieces,
                     device::HostWindow* window = nullptr);

}  // namespace galvatron::store
