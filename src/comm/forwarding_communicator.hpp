#pragma once
// A communicator over another one: it passes every call on, and what is built on it overrides those calls
// that go another way.

#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace galvatron::comm {

class ForwardingCommunicator : public Communicator {
 public:
  /// `inner` outlives the calls of this.
  explicit ForwardingCommunicator(Communicator& inner) : inner_(inner) {}

  void attach(device::Stream& compute) override { inner_.attach(compute); }
  void expect_messages(int64_t count) override { inner_.expect_messages(count); }
  int size() const override { return inner_.size(); }
  int index() const override { return inner_.index(); }
  const std::string& name() const override { return inner_.name(); }
  const std::vector<int>& members() const override { return inner_.members(); }
  void all_reduce(TensorView data, ReduceOp op) override { inner_.all_reduce(data, op); }
  void all_gather(TensorView in, TensorView out) override { inner_.all_gather(in, out); }
  void reduce_scatter(TensorView in, TensorView out) override { inner_.reduce_scatter(in, out); }
  void all_to_all(TensorView in, TensorView out) override { inner_.all_to_all(in, out); }
  void broadcast(TensorView data, int root) override { inner_.broadcast(data, root); }
  Pending shift(TensorView in, TensorView out) override { return inner_.shift(in, out); }
  void exchange(std::span<const Block> sends, std::span<const Block> receives) override {
    inner_.exchange(sends, receives);
  }
  Pending send(TensorView data, int to, int channel = 0) override { return inner_.send(data, to, channel); }
  Pending receive(TensorView data, int from, int channel = 0) override {
    return inner_.receive(data, from, channel);
  }
  void barrier() override { inner_.barrier(); }

 private:
  Communicator& inner_;
};

}  // namespace galvatron::comm
