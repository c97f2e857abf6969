#pragma once
// All ranks and the control plane: small texts and numbers that steer the job, and the one way to agree on a
// failure. Bulk data goes through Communicator.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"
#include "core/form.hpp"
#include "core/traffic.hpp"

namespace galvatron::comm {

using core::TrafficClass;

std::string to_string(TrafficClass traffic);

/// Ranks are sorted by (node, rank on the node) whatever the launcher's order. All members are collective
/// unless said otherwise.
class World {
 public:
  virtual ~World() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int node() const = 0;  ///< index of this rank's node
  virtual int nodes() const = 0;
  virtual int local_rank() const = 0;  ///< index of this rank on its node
  virtual int local_size() const = 0;
  /// Not collective: node of any rank, host name of any node.
  virtual int node_of(int rank) const = 0;
  virtual const std::string& host_of(int node) const = 0;

  virtual std::string broadcast(std::string text, int root) = 0;
  /// One text per rank, on every rank.
  virtual std::vector<std::string> all_gather(const std::string& text) = 0;
  virtual std::vector<double> all_gather(double value) = 0;
  virtual std::vector<int64_t> all_gather(int64_t value) = 0;
  virtual void all_reduce(std::span<double> values, ReduceOp op) = 0;
  virtual void all_reduce(std::span<int64_t> values, ReduceOp op) = 0;
  virtual void barrier() = 0;

  /// Runs `body`, which must not communicate, on every rank; when it threw anywhere, all ranks throw the same
  /// core::AgreedError with the first failing rank's text, its host, its exit code and how many more failed.
  /// `what` names the meeting point before the text; empty where the text says it all.
  void agree(std::string_view what, const std::function<void()>& body);

  /// A communicator over `ranks` (world ranks, in group order) for one class of traffic. Only the members
  /// call it; ranks that are in several groups make them in the same order. Groups of one rank cost nothing.
  /// `forms` says how collectives are done from which size on, the same on every member; throws
  /// core::InternalError for a form that the group cannot have on its nodes. Device groups (nccl) have a
  /// library of their own that chooses, and take no notice.
  virtual std::unique_ptr<Communicator> make_communicator(const std::vector<int>& ranks, TrafficClass traffic,
                                                          const core::FormTable& forms = {}) = 0;

  /// A world of the same ranks with messages of its own, for one other thread of each rank, which may use it
  /// while this one is used. That thread waits for its peers asleep, so that the cores stay with the
  /// computation; each call may take a few milliseconds more. Control plane only: it makes no communicators.
  virtual std::unique_ptr<World> twin() = 0;

  /// Ends the whole job at once from one rank. Not collective.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

/// MPI's world, collective over all ranks. The caller holds the Guard (MPI initialised with
/// MPI_THREAD_MULTIPLE) for as long as it lives.
std::unique_ptr<World> make_mpi_world(device::Device& device);

/// Rank `rank` of `size` pretended ranks on `nodes` pretended nodes, alone on one core; see comm/dry/.
std::unique_ptr<World> make_dry_world(int rank, int size, int nodes);

}  // namespace galvatron::comm
