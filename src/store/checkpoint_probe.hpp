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

}  // namespace galvatron::store
