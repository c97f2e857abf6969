#pragma once
// Playing a verb on all ranks of an MPI job. This is where MPI begins and ends, and where a failure on one
// rank becomes the end of the job with one message and one exit code.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "app/signals.hpp"
#include "app/verbs.hpp"
#include "comm/guard.hpp"
#include "comm/world.hpp"
#include "device/device.hpp"

namespace galvatron::app {

/// MPI, this rank's device and all ranks, made in this order and ended in the reverse. The host and its world
/// come first, because the deck, which says what computes, is read by all ranks.
class Ranks {
 public:
  /// Collective. Throws core::UserError (environment).
  Ranks();

  /// Collective: goes over to what run.device asks for, with a world that moves its memory; what world() and
  /// device() returned before is not to be used for data any more. Throws core::AgreedError (environment)
  /// naming key, build and remedy where that cannot be had.
  void use_device(const std::string& wanted);

  comm::World& world() { return device_world_ ? *device_world_ : *host_world_; }
  device::Device& device() { return device_ ? *device_ : *host_; }
  SignalWatch& signals() { return signals_; }

 private:
  SignalWatch signals_;  // before MPI starts threads
  comm::Guard guard_;
  std::unique_ptr<device::Device> host_;
  std::unique_ptr<comm::World> host_world_;
  std::unique_ptr<device::Device> device_;  ///< null: the host computes
  std::unique_ptr<comm::World> device_world_;
};

/// Collective: what `read` returns on rank 0, on every rank. `what` names the meeting point where it throws.
std::string read_shared(comm::World& world, std::string_view what, const std::function<std::string()>& read);

/// Starts MPI and plays the verb: rank 0 reads the deck's bytes, all ranks parse the same ones. Prints the
/// failure, if any, and the RESULT line while MPI is still up, because launchers kill the other processes
/// once the first one has ended with an error. Every rank returns the same code, or the job is aborted with
/// it. Throws core::UserError (environment) where there is no MPI job to be made.
core::ExitCode play_on_ranks(const Verb& verb, const CommandLine& line, Console& console, Result& result);

}  // namespace galvatron::app
