// Two places in host memory take turns: while the host talks about one chunk, the stream fills the other one.
#include "comm/staged/layered_communicator.hpp"

#include <algorithm>
#include <utility>

#include "core/errors.hpp"

namespace galvatron::comm {
namespace {

using core::CollectiveKind;

/// Bytes of a chunk in host memory: long beside a launch, short beside a large tensor.
constexpr int64_t chunk_bytes = int64_t{1} << 20;

TensorView part(const TensorView& view, int64_t begin, int64_t count) {
  return device::vector(view.data + begin * core::size_of(view.dtype), view.dtype, count);
}

}  // namespace

std::optional<Levels> levels_of(const std::vector<int>& node_of, int index) {
  Levels levels;
  const auto members = static_cast<int>(node_of.size());
  while (levels.lanes < members && node_of[static_cast<size_t>(levels.lanes)] == node_of[0]) ++levels.lanes;
  if (levels.lanes < 2 || levels.lanes == members || members % levels.lanes != 0) return std::nullopt;
  std::vector<int> seen;
  for (int first = 0; first < members; first += levels.lanes) {
    const int node = node_of[static_cast<size_t>(first)];
    if (std::find(seen.begin(), seen.end(), node) != seen.end()) return std::nullopt;
    seen.push_back(node);
    for (int i = first; i < first + levels.lanes; ++i)
      if (node_of[static_cast<size_t>(i)] != node) return std::nullopt;
  }
  levels.nodes = members / levels.lanes;
  levels.node = index / levels.lanes;
  levels.lane = index % levels.lanes;
  return levels;
}

LayeredCommunicator::LayeredCommunicator(Group group, const Levels& levels,
                                         std::unique_ptr<Communicator> inside,
                                         std::unique_ptr<Communicator> across,
                                         std::unique_ptr<StagedCommunicator> whole, core::FormTable forms,
                                         device::Device& device)
    : ForwardingCommunicator(*whole),
      group_(std::move(group)),
      levels_(levels),
      forms_(std::move(forms)),
      device_(device),
      stream_(device.make_stream(device::StreamUse::communication)),
      order_(device.make_event()),
      inside_(std::move(inside)),
      across_(std::move(across)),
      whole_(std::move(whole)),
      pool_(device) {
  GALV_ASSERT(inside_->size() == levels_.lanes && across_->size() == levels_.nodes, group_.name);
  inside_->attach(*stream_);
  for (auto& turn : turns_) turn = {{}, device.make_event(), device.make_event()};
}

LayeredCommunicator::~LayeredCommunicator() = default;

bool LayeredCommunicator::by_levels(CollectiveKind kind, int64_t bytes) const {
  return forms_.of(kind, bytes) == core::Form::hierarchical;
}

void LayeredCommunicator::begin() {
  for (auto& turn : turns_)
    if (turn.memory.bytes() == 0) turn.memory = device::HostBuffer(device_, chunk_bytes);
  if (compute_ == nullptr) return;
  order_->record(*compute_);
  stream_->wait(*order_);
}

void LayeredCommunicator::end() {
  if (compute_ == nullptr) return stream_->synchronize();
  order_->record(*stream_);
  compute_->wait(*order_);
}

TensorView LayeredCommunicator::region(const TensorView& whole, int node) const {
  const auto elements = whole.elements() / levels_.nodes;
  return part(whole, node * elements, elements);
}

void LayeredCommunicator::all_reduce(TensorView data, ReduceOp op) {
  check_all_reduce(group_, data);
  const int64_t lanes = levels_.lanes;
  const auto body = data.elements() / lanes * lanes;
  // Reduce-scatter, the first level, only sums.
  if (op != ReduceOp::sum || body == 0 || !by_levels(CollectiveKind::all_reduce, data.bytes()))
    return whole_->all_reduce(data, op);
  if (body < data.elements()) whole_->all_reduce(part(data, body, data.elements() - body), op);
  const auto most = chunk_bytes / core::size_of(data.dtype) * lanes;
  const auto chunks = (body + most - 1) / most;
  const auto chunk = [&](int64_t c) { return part(data, c * most, std::min(most, body - c * most)); };
  const auto own = [&](int64_t c) {
    const auto all = chunk(c);
    return part(all, levels_.lane * (all.elements() / lanes), all.elements() / lanes);
  };
  const auto go_down = [&](int64_t c) {
    inside_->reduce_scatter(chunk(c), own(c));
    device_.download(*stream_, own(c).data, turn(c).memory.span().first(static_cast<size_t>(own(c).bytes())));
    turn(c).down->record(*stream_);
  };
  begin();
  go_down(0);
  for (int64_t c = 0; c < chunks; ++c) {
    if (c + 1 < chunks) go_down(c + 1);
    turn(c).down->synchronize();
    auto& memory = turn(c).memory;
    across_->all_reduce(device::vector(memory.data(), data.dtype, own(c).elements()), op);
    device_.upload(*stream_, memory.span().first(static_cast<size_t>(own(c).bytes())), own(c).data);
    turn(c).free->record(*stream_);
    inside_->all_gather(own(c), chunk(c));
  }
  end();
}

void LayeredCommunicator::share_block(const TensorView& block, int node, int64_t& number) {
  for (int64_t at = 0; at < block.bytes(); at += chunk_bytes, ++number) {
    const auto count = std::min(chunk_bytes, block.bytes() - at);
    auto& [memory, down, free] = turn(number);
    const auto here = memory.span().first(static_cast<size_t>(count));
    free->synchronize();
    if (node == levels_.node) {
      device_.download(*stream_, block.data + at, here);
      down->record(*stream_);
      down->synchronize();
    }
    across_->broadcast(device::vector(memory.data(), core::DType::u8, count), node);
    if (node == levels_.node) continue;
    device_.upload(*stream_, here, block.data + at);
    free->record(*stream_);
  }
}

void LayeredCommunicator::all_gather(TensorView in, TensorView out) {
  check_all_gather(group_, in, out);
  if (!by_levels(CollectiveKind::all_gather, out.bytes())) return whole_->all_gather(in, out);
  begin();
  int64_t number = 0;
  for (int node = 0; node < levels_.nodes; ++node) {
    const auto members = region(out, node);
    const auto mine = part(members, levels_.lane * in.elements(), in.elements());
    if (node == levels_.node) {
      share_block(in, node, number);
      inside_->all_gather(in, members);
    } else {
      share_block(mine, node, number);
      inside_->all_gather(mine, members);
    }
  }
  end();
}

void LayeredCommunicator::reduce_scatter(TensorView in, TensorView out) {
  check_reduce_scatter(group_, in, out);
  if (out.bytes() == 0 || !by_levels(CollectiveKind::reduce_scatter, in.bytes()))
    return whole_->reduce_scatter(in, out);
  const auto elements = out.elements();
  const auto own_block = part(in, group_.index * elements, elements);
  const auto all = pool_.take(out.bytes() * levels_.nodes), mine = pool_.take(out.bytes());
  begin();
  for (int node = 0; node < levels_.nodes; ++node) {
    const auto members = region(in, node);
    // Where `out` lies in `in`, all of `in` may be written, and the sums for other nodes are not in its way.
    const auto sum = out.data == own_block.data ? part(members, levels_.lane * elements, elements) : out;
    inside_->reduce_scatter(members, sum);
    device_.download(
        *stream_, sum.data,
        all.span().subspan(static_cast<size_t>(node * out.bytes()), static_cast<size_t>(out.bytes())));
  }
  stream_->synchronize();
  across_->reduce_scatter(device::vector(all.data(), in.dtype, elements * levels_.nodes),
                          device::vector(mine.data(), in.dtype, elements));
  device_.upload(*stream_, mine.span(), out.data);
  stream_->synchronize();  // the place may be lent to others now
  end();
}

}  // namespace galvatron::comm
