// Each call: wait for the compute stream, queue, let the compute stream wait.
#include "comm/nccl/nccl_communicator.hpp"

#include <utility>

#include "comm/nccl/check.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::comm::nccl {
namespace {

size_t count_of(int64_t elements) {
  return static_cast<size_t>(elements);
}

/// For reductions; everything else moves bytes.
ncclDataType_t type_of(core::DType dtype) {
  switch (dtype) {
    case core::DType::f32:
      return ncclFloat32;
    case core::DType::f64:
      return ncclFloat64;
    case core::DType::bf16:
      return ncclBfloat16;
    case core::DType::f16:
      return ncclFloat16;
    default:
      throw core::InternalError(core::format("NCCL is not asked to reduce {}", core::name(dtype)));
  }
}

ncclRedOp_t op_of(ReduceOp op) {
  return op == ReduceOp::sum ? ncclSum : ncclMax;
}

}  // namespace

/// Something queued: over when its event is reached.
class NcclCommunicator::Queued final : public Pending::State {
 public:
  Queued(NcclCommunicator& owner, EventPool::Event over) : owner_(owner), over_(std::move(over)) {}
  void wait() override { owner_.join(over_.get()); }
  bool test() override { return device::cuda::reached(over_.get()); }

 private:
  NcclCommunicator& owner_;
  EventPool::Event over_;
};

/// A message that was asked for; it is queued when somebody wants to know of it.
class NcclCommunicator::Expected final : public Pending::State {
 public:
  Expected(NcclCommunicator& owner, Lane& lane, std::shared_ptr<Wanted> wanted)
      : owner_(owner), lane_(lane), wanted_(std::move(wanted)) {}
  void wait() override {
    lane_.fetch(*wanted_);
    owner_.join(wanted_->come.get());
  }
  bool test() override {
    if (!lane_.ready()) return false;
    lane_.fetch(*wanted_);
    return device::cuda::reached(wanted_->come.get());
  }

 private:
  NcclCommunicator& owner_;
  Lane& lane_;
  std::shared_ptr<Wanted> wanted_;
};

NcclCommunicator::NcclCommunicator(Group group, std::unique_ptr<Communicator> host, CommHandle comm,
                                   Resources& resources)
    : group_(std::move(group)), host_(std::move(host)), comm_(std::move(comm)), resources_(resources) {
  GALV_ASSERT(group_.size() > 1, group_.name);
}

NcclCommunicator::~NcclCommunicator() {
  comm_.begin_end();
  for (auto& [key, lane] : lanes_) lane->begin_end();
}

cudaStream_t NcclCommunicator::compute() const {
  return compute_ ? device::cuda::native(*compute_) : stream();
}

void NcclCommunicator::begin() {
  resources_.device.activate();
  if (!compute_) return;
  const auto written = resources_.events.after(compute());
  GALV_CUDA(cudaStreamWaitEvent(stream(), written.get(), cudaEventWaitDefault));
}

void NcclCommunicator::end() {
  comm_.settle();
  join(resources_.events.after(stream()).get());
}

void NcclCommunicator::join(cudaEvent_t event) {
  if (compute_)
    GALV_CUDA(cudaStreamWaitEvent(compute(), event, cudaEventWaitDefault));
  else
    resources_.device.waiter().until([event] { return cudaEventQuery(event); });
}

void NcclCommunicator::all_reduce(TensorView data, ReduceOp op) {
  check_all_reduce(group_, data);
  if (data.elements() == 0) return;
  begin();
  GALV_NCCL(ncclAllReduce(data.data, data.data, count_of(data.elements()), type_of(data.dtype), op_of(op),
                          comm_.get(), stream()));
  end();
}

void NcclCommunicator::all_gather(TensorView in, TensorView out) {
  check_all_gather(group_, in, out);
  if (in.bytes() == 0) return;
  begin();
  GALV_NCCL(ncclAllGather(in.data, out.data, count_of(in.bytes()), ncclUint8, comm_.get(), stream()));
  end();
}

void NcclCommunicator::reduce_scatter(TensorView in, TensorView out) {
  check_reduce_scatter(group_, in, out);
  if (out.elements() == 0) return;
  begin();
  GALV_NCCL(ncclReduceScatter(in.data, out.data, count_of(out.elements()), type_of(out.dtype), ncclSum,
                              comm_.get(), stream()));
  end();
}

void NcclCommunicator::all_to_all(TensorView in, TensorView out) {
  check_all_to_all(group_, in, out);
  std::vector<Block> sends, receives;
  const auto count = in.elements() / size();
  const auto bytes = in.bytes() / size();
  for (int peer = 0; peer < size(); ++peer) {
    sends.push_back({device::vector(in.data + peer * bytes, in.dtype, count), peer});
    receives.push_back({device::vector(out.data + peer * bytes, out.dtype, count), peer});
  }
  begin();
  exchange_queued(sends, receives);
  end();
}

void NcclCommunicator::broadcast(TensorView data, int root) {
  check_rooted(group_, "broadcast", data, root);
  if (data.bytes() == 0) return;
  begin();
  GALV_NCCL(
      ncclBroadcast(data.data, data.data, count_of(data.bytes()), ncclUint8, root, comm_.get(), stream()));
  end();
}

Pending NcclCommunicator::shift(TensorView in, TensorView out) {
  check_shift(group_, in, out);
  const Block to{in, (index() + 1) % size()};
  const Block from{out, (index() + size() - 1) % size()};
  begin();
  exchange_queued({&to, 1}, {&from, 1});
  comm_.settle();
  return Pending(std::make_unique<Queued>(*this, resources_.events.after(stream())));
}

void NcclCommunicator::exchange(std::span<const Block> sends, std::span<const Block> receives) {
  check_exchange(group_, sends, receives);
  begin();
  exchange_queued(sends, receives);
  end();
}

void NcclCommunicator::exchange_queued(std::span<const Block> sends, std::span<const Block> receives) {
  GALV_NCCL(ncclGroupStart());
  for (const auto& block : sends) {
    if (block.data.bytes() > 0 && block.peer != index())
      GALV_NCCL(ncclSend(block.data.data, count_of(block.data.bytes()), ncclUint8, block.peer, comm_.get(),
                         stream()));
  }
  for (const auto& block : receives) {
    if (block.data.bytes() > 0 && block.peer != index())
      GALV_NCCL(ncclRecv(block.data.data, count_of(block.data.bytes()), ncclUint8, block.peer, comm_.get(),
                         stream()));
  }
  GALV_NCCL(ncclGroupEnd());
  comm_.settle();
  for (const auto& from : sends) {
    if (from.peer != index()) continue;
    for (const auto& to : receives)
      if (to.peer == index())
        resources_.device.copy(*resources_.stream, from.data.data, to.data.data, from.data.bytes());
  }
}

Lane& NcclCommunicator::lane(Side side, int peer, int channel) {
  auto& lane = lanes_[{side, peer, channel}];
  if (!lane) {
    const auto me = members()[static_cast<size_t>(index())], other = members()[static_cast<size_t>(peer)];
    const auto name = side == Side::sender ? core::format("{} > {} channel {}", me, other, channel)
                                           : core::format("{} > {} channel {}", other, me, channel);
    lane = std::make_unique<Lane>(resources_, *host_, side, peer, channel, name);
  }
  return *lane;
}

Pending NcclCommunicator::send(TensorView data, int to, int channel) {
  check_message(group_, "send", data, to, channel);
  return Pending(std::make_unique<Queued>(*this, lane(Side::sender, to, channel).send(data, compute())));
}

Pending NcclCommunicator::receive(TensorView data, int from, int channel) {
  check_message(group_, "receive", data, from, channel);
  auto& line = lane(Side::receiver, from, channel);
  return Pending(std::make_unique<Expected>(*this, line, line.expect(data, compute())));
}

void NcclCommunicator::barrier() {
  resources_.device.waiter().until([this] { return cudaStreamQuery(compute()); });
  host_->barrier();
}

}  // namespace galvatron::comm::nccl
