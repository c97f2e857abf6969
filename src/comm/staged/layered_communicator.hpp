#pragma once
// A group of devices that spans nodes, by levels: a direct transport inside each node, host memory and the
// host's communicator across. Every byte then crosses the network once per node and not once per member, and
// the levels overlap: while the host talks about one chunk, the device works on the next.
//
// Sums are taken inside the nodes first, then over the nodes in their order. All members get the same bits,
// every time, for one version of the direct transport; 16-bit types are rounded at each level. Calls that
// gain nothing by levels, and small ones, are the staged communicator's.

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/forwarding_communicator.hpp"
#include "comm/group.hpp"
#include "comm/staged/staged_communicator.hpp"
#include "core/form.hpp"

namespace galvatron::comm {

/// How a group lies on nodes, where levels serve it.
struct Levels {
  int lanes = 0;  ///< members on each node
  int nodes = 0;
  int node = 0, lane = 0;  ///< this member's
};

/// The levels of a group of which `node_of[i]` is member i's node: as many members on every node, at least
/// two, and those of a node in a row. Nothing for other groups.
std::optional<Levels> levels_of(const std::vector<int>& node_of, int index);

class LayeredCommunicator final : public ForwardingCommunicator {
 public:
  /// `inside` talks between the members on this node, directly, in member order; `across` between those of
  /// this lane, one per node in their order, in host memory; `whole` between all. `forms` says from which
  /// size on levels are used: its rows `hierarchical`.
  LayeredCommunicator(Group group, const Levels& levels, std::unique_ptr<Communicator> inside,
                      std::unique_ptr<Communicator> across, std::unique_ptr<StagedCommunicator> whole,
                      core::FormTable forms, device::Device& device);
  ~LayeredCommunicator() override;

  void attach(device::Stream& compute) override {
    compute_ = &compute;
    whole_->attach(compute);
  }

  // The host waits for what it sends, and the attached stream for what comes.
  void all_reduce(TensorView data, ReduceOp op) override;
  void all_gather(TensorView in, TensorView out) override;
  void reduce_scatter(TensorView in, TensorView out) override;

 private:
  /// A place in host memory for one chunk; it may be used again when `free` is reached.
  struct Turn {
    device::HostBuffer memory;
    std::unique_ptr<device::Event> down, free;
  };

  bool by_levels(core::CollectiveKind kind, int64_t bytes) const;
  /// Between the two, the own stream works in the order of the attached one.
  void begin();
  void end();
  Turn& turn(int64_t number) { return turns_[static_cast<size_t>(number % 2)]; }
  /// The members' data of one node in a whole that has a block for each member.
  TensorView region(const TensorView& whole, int node) const;
  /// Block `node` of every node's lane: brings those of the others to `block`, or sends the own one.
  void share_block(const TensorView& block, int node, int64_t& number);

  Group group_;
  Levels levels_;
  core::FormTable forms_;
  device::Device& device_;
  device::Stream* compute_ = nullptr;
  std::unique_ptr<device::Stream> stream_;  // before what talks on it
  std::unique_ptr<device::Event> order_;
  std::unique_ptr<Communicator> inside_, across_;
  std::unique_ptr<StagedCommunicator> whole_;
  std::array<Turn, 2> turns_;
  StagingPool pool_;
};

}  // namespace galvatron::comm
