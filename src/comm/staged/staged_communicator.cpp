// Down, the host's communicator, up.
#include "comm/staged/staged_communicator.hpp"

#include <utility>

namespace galvatron::comm {
namespace {

TensorView view_of(const StagingPool::Place& place, const TensorView& like) {
  return {place.data(), like.dtype, like.rows, like.cols, like.cols};
}

}  // namespace

/// A message of the host, and the memory that it needs; a received one goes up when it has come.
class StagedCommunicator::StagedPending final : public Pending::State {
 public:
  StagedPending(StagedCommunicator& owner, Pending message, StagingPool::Place sent,
                StagingPool::Place received, TensorView target)
      : owner_(owner),
        sent_(std::move(sent)),
        received_(std::move(received)),
        target_(target),
        message_(std::move(message)) {}

  void wait() override {
    message_.wait();
    finish();
  }
  bool test() override {
    if (!message_.test()) return false;
    finish();
    return true;
  }

 private:
  void finish() {
    if (target_.present()) owner_.up(received_, target_);
    target_ = {};
  }

  StagedCommunicator& owner_;
  StagingPool::Place sent_, received_;
  TensorView target_;
  Pending message_;  // ends before the memory that it uses
};

StagedCommunicator::StagedCommunicator(std::unique_ptr<Communicator> host, device::Device& device,
                                       Reach reach)
    : host_(std::move(host)),
      device_(device),
      reach_(reach),
      own_stream_(device.make_stream(device::StreamUse::copy)),
      stream_(own_stream_.get()),
      pool_(device) {}

StagingPool::Place StagedCommunicator::place_for(const TensorView& view) {
  return pool_.take(view.bytes());
}

StagingPool::Place StagedCommunicator::down(const TensorView& view) {
  auto place = place_for(view);
  device_.download(*stream_, view.data, place.span());
  stream_->synchronize();
  return place;
}

void StagedCommunicator::up(const StagingPool::Place& place, const TensorView& view) {
  device_.upload(*stream_, place.span(), view.data);
  stream_->synchronize();  // the place may be lent to others now
}

void StagedCommunicator::all_reduce(TensorView data, ReduceOp op) {
  const auto place = down(data);
  host_->all_reduce(view_of(place, data), op);
  up(place, data);
}

void StagedCommunicator::all_gather(TensorView in, TensorView out) {
  const auto mine = down(in);
  const auto all = place_for(out);
  host_->all_gather(view_of(mine, in), view_of(all, out));
  up(all, out);
}

void StagedCommunicator::reduce_scatter(TensorView in, TensorView out) {
  const auto all = down(in);
  const auto mine = place_for(out);
  host_->reduce_scatter(view_of(all, in), view_of(mine, out));
  up(mine, out);
}

void StagedCommunicator::all_to_all(TensorView in, TensorView out) {
  const auto sent = down(in);
  const auto received = place_for(out);
  host_->all_to_all(view_of(sent, in), view_of(received, out));
  up(received, out);
}

void StagedCommunicator::broadcast(TensorView data, int root) {
  const auto place = root == index() ? down(data) : place_for(data);
  host_->broadcast(view_of(place, data), root);
  if (root != index()) up(place, data);
}

Pending StagedCommunicator::shift(TensorView in, TensorView out) {
  auto sent = down(in);
  auto received = place_for(out);
  auto message = host_->shift(view_of(sent, in), view_of(received, out));
  return Pending(
      std::make_unique<StagedPending>(*this, std::move(message), std::move(sent), std::move(received), out));
}

void StagedCommunicator::exchange(std::span<const Block> sends, std::span<const Block> receives) {
  std::vector<StagingPool::Place> sent, received;
  std::vector<Block> out, in;
  for (const auto& block : sends) {
    sent.push_back(down(block.data));
    out.push_back({view_of(sent.back(), block.data), block.peer});
  }
  for (const auto& block : receives) {
    received.push_back(place_for(block.data));
    in.push_back({view_of(received.back(), block.data), block.peer});
  }
  host_->exchange(out, in);
  for (size_t i = 0; i < received.size(); ++i) up(received[i], receives[i].data);
}

Pending StagedCommunicator::send(TensorView data, int to, int channel) {
  if (reach_ == Reach::device) {
    stream_->synchronize();
    return host_->send(data, to, channel);
  }
  auto place = down(data);
  auto message = host_->send(view_of(place, data), to, channel);
  return Pending(std::make_unique<StagedPending>(*this, std::move(message), std::move(place),
                                                 StagingPool::Place(), TensorView{}));
}

Pending StagedCommunicator::receive(TensorView data, int from, int channel) {
  auto place = place_for(data);
  auto message = host_->receive(view_of(place, data), from, channel);
  return Pending(std::make_unique<StagedPending>(*this, std::move(message), StagingPool::Place(),
                                                 std::move(place), data));
}

void StagedCommunicator::barrier() {
  stream_->synchronize();
  host_->barrier();
}

}  // namespace galvatron::comm
