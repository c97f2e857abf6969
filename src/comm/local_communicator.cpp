// A group of one: reductions are done already, gathers are copies, and there is nobody to send to.
#include "comm/local_communicator.hpp"

#include <cstring>
#include <memory>
#include <utility>

#include "core/errors.hpp"

namespace galvatron::comm {
namespace {

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(Group group, device::Device* device) : group_(std::move(group)), device_(device) {
    GALV_ASSERT(group_.size() == 1, group_.name);
    if (device_ == nullptr) return;
    own_stream_ = device_->make_stream(device::StreamUse::copy);
    stream_ = own_stream_.get();
  }

  void attach(device::Stream& compute) override {
    if (device_ != nullptr) stream_ = &compute;
  }
  int size() const override { return 1; }
  int index() const override { return 0; }
  const std::string& name() const override { return group_.name; }
  const std::vector<int>& members() const override { return group_.members; }

  void all_reduce(TensorView data, ReduceOp) override { check_all_reduce(group_, data); }
  void all_gather(TensorView in, TensorView out) override {
    check_all_gather(group_, in, out);
    copy(in, out);
  }
  void reduce_scatter(TensorView in, TensorView out) override {
    check_reduce_scatter(group_, in, out);
    copy(in, out);
  }
  void all_to_all(TensorView in, TensorView out) override {
    check_all_to_all(group_, in, out);
    copy(in, out);
  }
  void broadcast(TensorView data, int root) override { check_rooted(group_, "broadcast", data, root); }
  Pending shift(TensorView in, TensorView out) override {
    check_shift(group_, in, out);
    copy(in, out);
    return Pending();
  }
  void exchange(std::span<const Block> sends, std::span<const Block> receives) override {
    check_exchange(group_, sends, receives);
    if (!sends.empty() && !receives.empty()) copy(sends[0].data, receives[0].data);
  }
  Pending send(TensorView data, int to, int channel) override {
    check_message(group_, "send", data, to, channel);
    return Pending();
  }
  Pending receive(TensorView data, int from, int channel) override {
    check_message(group_, "receive", data, from, channel);
    return Pending();
  }
  void barrier() override {}

 private:
  void copy(const TensorView& in, const TensorView& out) const {
    if (!in.data || !out.data || in.data == out.data) return;
    if (device_ == nullptr) {
      std::memmove(out.data, in.data, static_cast<size_t>(in.bytes()));
      return;
    }
    device_->copy(*stream_, in.data, out.data, in.bytes());
    if (stream_ == own_stream_.get()) stream_->synchronize();
  }

  Group group_;
  device::Device* device_;
  std::unique_ptr<device::Stream> own_stream_;  // until another one is attached
  device::Stream* stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Communicator> make_local_communicator(Group group, device::Device* device) {
  return std::make_unique<LocalCommunicator>(std::move(group), device);
}

}  // namespace galvatron::comm
