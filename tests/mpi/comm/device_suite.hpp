#pragma once
// Every call of a communicator against its definition, for data in the memory of any device: the staged
// transport on a far device and NCCL on CUDA devices answer the same questions.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "device/host_window.hpp"
#include "mpi/comm/support.hpp"

namespace galvatron::comm::test {

/// `count` elements on a device, read and written through the host's window.
template <class T>
class Array {
 public:
  Array(device::Device& device, device::Stream& stream, const std::vector<T>& values)
      : window_(device, stream), count_(static_cast<int64_t>(values.size())), buffer_(device, bytes()) {
    if (values.empty()) return;
    std::copy_n(reinterpret_cast<const std::byte*>(values.data()), bytes(),
                window_.edit(buffer_.data(), bytes()).begin());
    window_.put_back();
  }
  Array(device::Device& device, device::Stream& stream, int64_t count)
      : Array(device, stream, std::vector<T>(static_cast<size_t>(count))) {}

  TensorView view() const { return device::vector(buffer_.data(), dtype_of<T>(), count_); }
  TensorView part(int64_t begin, int64_t count) const {
    return device::vector(buffer_.data() + begin * int64_t{sizeof(T)}, dtype_of<T>(), count);
  }
  std::vector<T> values() {
    std::vector<T> out(static_cast<size_t>(count_));
    if (count_ == 0) return out;
    const auto seen = window_.look(buffer_.data(), bytes());
    std::copy(seen.begin(), seen.end(), reinterpret_cast<std::byte*>(out.data()));
    return out;
  }

 private:
  int64_t bytes() const { return count_ * int64_t{sizeof(T)}; }

  device::HostWindow window_;
  int64_t count_;
  device::Buffer buffer_;
};

/// The collectives of one group, attached to a stream of the device.
class DeviceSuite {
 public:
  DeviceSuite(World& world, device::Device& device, const std::vector<int>& ranks, TrafficClass traffic,
              const core::FormTable& forms = {})
      : device_(device),
        stream_(device.make_stream()),
        group_(world.make_communicator(ranks, traffic, forms)),
        rank_(world.rank()) {
    group_->attach(*stream_);
  }

  Communicator& group() { return *group_; }

  void check_all(int64_t n) {
    SCOPED_TRACE("communicator '" + group_->name() + "', " + std::to_string(n) + " elements");
    check_reductions<float>(n);
    check_reductions<double>(n);
    check_gathers(n);
    check_exchanges(n);
    check_messages(n);
    group_->barrier();
  }

 private:
  template <class T>
  Array<T> array(const std::vector<T>& values) {
    return Array<T>(device_, *stream_, values);
  }
  template <class T>
  T sum(int64_t i) const {
    T total = 0;
    for (const int member : group_->members()) total += pattern<T>(member, i);
    return total;
  }
  int member(int place) const { return group_->members()[static_cast<size_t>(place)]; }

  template <class T, class Expected>
  void expect(Array<T>& got, Expected expected, const char* call) {
    const auto values = got.values();
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], expected(static_cast<int64_t>(i))) << call << ", element " << i;
  }

  template <class T>
  void check_reductions(int64_t n) {
    auto total = array(filled<T>(rank_, n)), greatest = array(filled<T>(rank_, n));
    group_->all_reduce(total.view(), ReduceOp::sum);
    group_->all_reduce(greatest.view(), ReduceOp::max);
    expect(
        total, [&](int64_t i) { return sum<T>(i); }, "all_reduce sum");
    const auto most = [&](int64_t i) {
      T value = 0;
      for (const int other : group_->members()) value = std::max(value, pattern<T>(other, i));
      return value;
    };
    expect(greatest, most, "all_reduce max");
    auto in = array(filled<T>(rank_, n * group_->size()));
    auto out = array(std::vector<T>(static_cast<size_t>(n)));
    group_->reduce_scatter(in.view(), out.view());
    expect(
        out, [&](int64_t i) { return sum<T>(group_->index() * n + i); }, "reduce_scatter");
  }

  void check_gathers(int64_t n) {
    auto in = array(filled<float>(rank_, n));
    auto out = array(std::vector<float>(static_cast<size_t>(n * group_->size())));
    group_->all_gather(in.view(), out.view());
    expect(
        out, [&](int64_t i) { return pattern<float>(member(static_cast<int>(i / n)), i % n); }, "all_gather");
    for (int root = 0; root < group_->size(); ++root) {
      auto data = array(filled<int32_t>(rank_, n));
      group_->broadcast(data.view(), root);
      expect(
          data, [&](int64_t i) { return pattern<int32_t>(member(root), i); }, "broadcast");
    }
  }

  void check_exchanges(int64_t n) {
    const auto size = group_->size(), index = group_->index();
    auto in = array(filled<float>(rank_, n * size));
    auto out = array(std::vector<float>(static_cast<size_t>(n * size)));
    group_->all_to_all(in.view(), out.view());
    const auto block = [&](int64_t i) {
      return pattern<float>(member(static_cast<int>(i / n)), index * n + i % n);
    };
    expect(out, block, "all_to_all");
    auto again = array(std::vector<float>(static_cast<size_t>(n * size)));
    std::vector<Block> sends, receives;
    for (int peer = 0; peer < size; ++peer) {
      sends.push_back({in.part(peer * n, n), peer});
      receives.push_back({again.part(peer * n, n), peer});
    }
    group_->exchange(sends, receives);
    expect(again, block, "exchange");
    auto mine = array(filled<float>(rank_, n));
    auto first = array(std::vector<float>(static_cast<size_t>(n)));
    auto second = array(std::vector<float>(static_cast<size_t>(n)));
    auto one = group_->shift(mine.view(), first.view());
    one.wait();
    auto two = group_->shift(first.view(), second.view());
    two.wait();
    expect(
        second, [&](int64_t i) { return pattern<float>(member((index + 2 * size - 2) % size), i); },
        "two shifts");
  }

  /// Receives are posted before anything is sent, and waited for in another order than they come.
  void check_messages(int64_t n) {
    const auto size = group_->size(), index = group_->index();
    if (size == 1) return;
    const int next = (index + 1) % size, previous = (index + size - 1) % size;
    auto data = array(filled<float>(rank_, n)), more = array(filled<float>(rank_ + 1, n));
    auto from = array(std::vector<float>(static_cast<size_t>(n)));
    auto other = array(std::vector<float>(static_cast<size_t>(n)));
    std::vector<Pending> received, sent;
    received.push_back(group_->receive(from.view(), previous, 0));
    received.push_back(group_->receive(other.view(), previous, 1));
    const bool first = index % 2 == 0;  // the first message of a channel may wait for its receiver
    const auto send = [&] {
      sent.push_back(group_->send(data.view(), next, 0));
      sent.push_back(group_->send(more.view(), next, 1));
    };
    const auto take = [&] {
      for (auto& pending : received) pending.wait();
    };
    if (first) send();
    take();
    if (!first) send();
    for (auto& pending : sent) pending.wait();
    expect(
        from, [&](int64_t i) { return pattern<float>(member(previous), i); }, "message of channel 0");
    expect(
        other, [&](int64_t i) { return pattern<float>(member(previous) + 1, i); }, "message of channel 1");
  }

  device::Device& device_;
  std::unique_ptr<device::Stream> stream_;
  std::unique_ptr<Communicator> group_;
  int rank_;
};

}  // namespace galvatron::comm::test
