#pragma once
// Messages of a group of devices on several nodes: to members of the same node directly, to others through
// host memory. All other calls go through host memory.

#include <memory>
#include <vector>

#include "comm/forwarding_communicator.hpp"

namespace galvatron::comm {

class RoutedCommunicator final : public ForwardingCommunicator {
 public:
  /// `near` talks between the members of this node, directly, in member order; `near_index[i]` is member i's
  /// place in it, −1 on other nodes. `whole` talks between all.
  RoutedCommunicator(std::unique_ptr<Communicator> near, std::vector<int> near_index,
                     std::unique_ptr<Communicator> whole)
      : ForwardingCommunicator(*whole),
        near_(std::move(near)),
        near_index_(std::move(near_index)),
        whole_(std::move(whole)) {}

  void attach(device::Stream& compute) override {
    near_->attach(compute);
    whole_->attach(compute);
  }
  Pending send(TensorView data, int to, int channel) override {
    const int near = near_of(to);
    return near < 0 ? whole_->send(data, to, channel) : near_->send(data, near, channel);
  }
  Pending receive(TensorView data, int from, int channel) override {
    const int near = near_of(from);
    return near < 0 ? whole_->receive(data, from, channel) : near_->receive(data, near, channel);
  }

 private:
  /// A wrong peer is for the communicator of all to complain about.
  int near_of(int peer) const {
    return peer < 0 || peer >= size() || peer == index() ? -1 : near_index_[static_cast<size_t>(peer)];
  }

  std::unique_ptr<Communicator> near_;
  std::vector<int> near_index_;
  std::unique_ptr<Communicator> whole_;
};

}  // namespace galvatron::comm
