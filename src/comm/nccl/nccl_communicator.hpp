#pragma once
// A group of devices of one node over NCCL. Calls are queued: collectives on the one communication stream of
// the rank, messages on lanes of their own, all ordered with the attached compute stream by events. For one
// NCCL version, topology and size, NCCL adds in the same order every time and gives all members the same
// bits; another version or topology may give others, and 16-bit sums are rounded at every hop.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/group.hpp"
#include "comm/nccl/lane.hpp"

namespace galvatron::comm::nccl {

/// One thread uses all NCCL communicators of a rank: calls are queued, so a second thread would win nothing.
class NcclCommunicator final : public Communicator {
 public:
  /// `comm` has the members of `group` (at least 2) in the same order, `host` talks between them in host
  /// memory.
  NcclCommunicator(Group group, std::unique_ptr<Communicator> host, CommHandle comm, Resources& resources);
  ~NcclCommunicator() override;

  void attach(device::Stream& compute) override { compute_ = &compute; }
  int size() const override { return group_.size(); }
  int index() const override { return group_.index; }
  const std::string& name() const override { return group_.name; }
  const std::vector<int>& members() const override { return group_.members; }

  // Without an attached stream the host waits for each.
  void all_reduce(TensorView data, ReduceOp op) override;
  void all_gather(TensorView in, TensorView out) override;
  void reduce_scatter(TensorView in, TensorView out) override;
  void all_to_all(TensorView in, TensorView out) override;
  void broadcast(TensorView data, int root) override;
  Pending shift(TensorView in, TensorView out) override;
  void exchange(std::span<const Block> sends, std::span<const Block> receives) override;
  Pending send(TensorView data, int to, int channel = 0) override;
  Pending receive(TensorView data, int from, int channel = 0) override;
  /// The host waits for its own device's work and for the other hosts.
  void barrier() override;

  const CommHandle& comm() const { return comm_; }

 private:
  class Queued;
  class Expected;

  cudaStream_t compute() const;
  cudaStream_t stream() const { return device::cuda::native(*resources_.stream); }
  /// Between the two, calls are queued on the communication stream.
  void begin();
  void end();
  /// What follows waits for `event`: the attached stream's work, or the host.
  void join(cudaEvent_t event);
  void exchange_queued(std::span<const Block> sends, std::span<const Block> receives);
  Lane& lane(Side side, int peer, int channel);

  Group group_;
  std::unique_ptr<Communicator> host_;
  CommHandle comm_;
  Resources& resources_;
  device::Stream* compute_ = nullptr;
  std::map<std::tuple<Side, int, int>, std::unique_ptr<Lane>> lanes_;  // (side, peer, channel)
};

}  // namespace galvatron::comm::nccl
