#pragma once
// Messages of a group of devices on several nodes: to members of the same node directly, to others through
// host memory. All other calls go through host memory.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace galvatron::comm {

class RoutedCommunicator final : public Communicator {
 public:
  /// `near` talks between the members of this node, directly, in member order; `near_index[i]` is member i's
  /// place in it, −1 on other nodes. `whole` talks between all.
  RoutedCommunicator(std::unique_ptr<Communicator> near, std::vector<int> near_index,
                     std::unique_ptr<Communicator> whole)
      : near_(std::move(near)), near_index_(std::move(near_index)), whole_(std::move(whole)) {}

  void attach(device::Stream& compute) override {
    near_->attach(compute);
    whole_->attach(compute);
  }
  void expect_messages(int64_t count) override { whole_->expect_messages(count); }
  int size() const override { return whole_->size(); }
  int index() const override { return whole_->index(); }
  const std::string& name() const override { return whole_->name(); }
  const std::vector<int>& members() const override { return whole_->members(); }

  void all_reduce(TensorView data, ReduceOp op) override { whole_->all_reduce(data, op); }
  void all_gather(TensorView in, TensorView out) override { whole_->all_gather(in, out); }
  void reduce_scatter(TensorView in, TensorView out) override { whole_->reduce_scatter(in, out); }
  void all_to_all(TensorView in, TensorView out) override { whole_->all_to_all(in, out); }
  void broadcast(TensorView data, int root) override { whole_->broadcast(data, root); }
  Pending shift(TensorView in, TensorView out) override { return whole_->shift(in, out); }
  void exchange(std::span<const Block> sends, std::span<const Block> receives) override {
    whole_->exchange(sends, receives);
  }
  Pending send(TensorView data, int to, int channel) override {
    const int near = near_of(to);
    return near < 0 ? whole_->send(data, to, channel) : near_->send(data, near, channel);
  }
  Pending receive(TensorView data, int from, int channel) override {
    const int near = near_of(from);
    return near < 0 ? whole_->receive(data, from, channel) : near_->receive(data, near, channel);
  }
  void barrier() override { whole_->barrier(); }

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
