#pragma once
// A look at the start of a run whether checkpoints can be written, and how.

#include <filesystem>
#include <functional>
#include <string>

#include "comm/background.hpp"
#include "comm/world.hpp"
#include "store/checkpoint.hpp"

namespace galvatron::store {

/// Something collective that may never end, tried by a thread of its own on a twin of the world.
class Attempt {
 public:
  /// Collective: begins at once. `body` owns or shares what it uses.
  Attempt(comm::World& world, std::function<void(comm::World&)> body);
  /// Collective: whether it has ended on every rank, this many seconds from now at most. When it has not,
  /// leave with an exception: the thread is left behind then, else the destructor waits for it.
  bool ends_within(double seconds);

 private:
  comm::World& world_;
  comm::Background::Ticket ticket_ = 0;
  comm::Background thread_{1};
};

/// Collective: saves, reads back and deletes a tiny uneven checkpoint, so that a folder that is full,
/// read-only or not shared by the nodes shows at the start of a run. Throws AgreedError (environment, exit
/// code 3).
void probe_checkpoint_folder(comm::World& world, const std::filesystem::path& folder);

/// The way to write, and why it is another one than was wanted.
struct ProbedIo {
  CheckpointIo io = CheckpointIo::aggregate;
  std::string problem;
};

/// Collective: probes the folder, and then `wanted` where that goes through MPI's input and output; aggregate
/// where that fails or writes wrong bytes. Throws UserError (environment) on every rank, not agreed upon,
/// where it does not end within `patience` seconds.
ProbedIo probe_checkpoint_io(comm::World& world, const std::filesystem::path& folder, CheckpointIo wanted,
                             double patience = 20.0);

/// How fast one way of writing is.
struct TriedIo {
  CheckpointIo io = CheckpointIo::aggregate;
  bool ended = true;  ///< false: a thread hangs in MPI, so leave by ending the job
  double bytes_per_second =
      0.0;              ///< of a save with everything that belongs to one; 0 where it did not succeed
  std::string problem;  ///< empty where every byte was written and read back in this way
};

/// Collective: saves and deletes a checkpoint of about `bytes`, in uneven shares, in this very way.
TriedIo try_checkpoint_io(comm::World& world, const std::filesystem::path& folder, CheckpointIo io,
                          int64_t bytes, double patience = 20.0);

}  // namespace galvatron::store
