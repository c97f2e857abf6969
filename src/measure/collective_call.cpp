// Zeros stay zeros under sums, so buffers may be used again and again.
#include "measure/collective_call.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace galvatron::measure {

using core::CollectiveKind;

int64_t elements_for(int64_t bytes, int64_t ranks) {
  const int64_t elements = std::max<int64_t>(bytes / core::size_of(core::DType::f32), 1);
  return (elements + ranks - 1) / ranks * ranks;
}

void call(comm::Communicator& group, CollectiveKind kind, std::byte* in, std::byte* out, int64_t elements) {
  const auto vector = [](std::byte* data, int64_t n) { return device::vector(data, core::DType::f32, n); };
  const auto part = elements / group.size();
  switch (kind) {
    case CollectiveKind::all_reduce:
      return group.all_reduce(vector(in, elements), core::ReduceOp::sum);
    case CollectiveKind::all_gather:
      return group.all_gather(vector(in, part), vector(out, elements));
    case CollectiveKind::reduce_scatter:
      return group.reduce_scatter(vector(in, elements), vector(out, part));
    case CollectiveKind::all_to_all:
      return group.all_to_all(vector(in, elements), vector(out, elements));
    case CollectiveKind::broadcast:
      return group.broadcast(vector(in, elements), 0);
    case CollectiveKind::shift:
      return group.shift(vector(in, elements), vector(out, elements)).wait();
    case CollectiveKind::exchange:
      break;
  }
  throw core::InternalError("an exchange has no one shape to be measured in");
}

}  // namespace galvatron::measure
