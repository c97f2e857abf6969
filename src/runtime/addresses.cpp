// Offsets were planned; this only adds them to bases.

#include "runtime/addresses.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::runtime {

using program::Storage;

void GroupAddresses::adopt(const GroupAddresses& owner) {
  auto take = [](std::byte*& mine, std::byte* theirs) {
    if (mine == nullptr) mine = theirs;
  };
  take(weights, owner.weights);
  take(weight_shard, owner.weight_shard);
  take(gradients, owner.gradients);
  take(gradient_shard, owner.gradient_shard);
  take(exp_avg, owner.exp_avg);
  take(exp_avg_sq, owner.exp_avg_sq);
  take(master, owner.master);
}

std::byte* LayerAddresses::base_of(const program::Value& value) const {
  auto group = [&]() -> const GroupAddresses& { return groups[static_cast<size_t>(value.group)]; };
  switch (value.storage) {
    case Storage::weights:
      return group().weights;
    case Storage::weight_shard:
      return group().weight_shard;
    case Storage::gradients:
      return group().gradients;
    case Storage::gradient_shard:
      return group().gradient_shard;
    case Storage::exp_avg:
      return group().exp_avg;
    case Storage::exp_avg_sq:
      return group().exp_avg_sq;
    case Storage::master:
      return group().master;
    case Storage::saved:
      return saved;
    case Storage::work:
      return work;
    case Storage::input:
      return input;
    case Storage::output:
      return output;
    case Storage::output_gradient:
      return output_gradient;
    case Storage::input_gradient:
      return input_gradient;
    case Storage::loss:
      return loss;
    case Storage::gradient_norm:
      return gradient_norm;
  }
  return nullptr;
}

device::TensorView LayerAddresses::view(const program::Operand& operand) const {
  if (!operand.present()) return {};
  const auto& value = program->value(operand.value);
  auto* base = base_of(value);
  if (base == nullptr)
    throw core::InternalError(
        core::format("'{}' of layer kind '{}' has no place in this phase", value.name, program->layer.kind));
  const auto first = operand.row * value.cols + operand.col;
  base += (value.offset < 0 ? 0 : value.offset) + first * core::size_of(value.dtype);
  if (water != nullptr) {
    const auto begin = base - arena, last_row = (operand.rows - 1) * value.cols;
    water->touch(begin, begin + (last_row + operand.cols) * core::size_of(value.dtype));
  }
  auto* data = memory == Memory::real ? base : nullptr;
  return {data, value.dtype, operand.rows, operand.cols, value.cols};
}

GroupAddresses place(const program::GroupPlacement& at, std::byte* persistent, std::byte* gathered,
                     std::byte* unreduced) {
  auto kept = [&](int64_t offset) { return offset < 0 ? nullptr : persistent + offset; };
  GroupAddresses group;
  group.weights = at.gathered >= 0 ? gathered + at.gathered : kept(at.weights);
  group.weight_shard = kept(at.weight_shard);
  group.gradients = at.unreduced >= 0 ? unreduced + at.unreduced : kept(at.gradients);
  group.gradient_shard = kept(at.gradient_shard);
  group.exp_avg = kept(at.exp_avg);
  group.exp_avg_sq = kept(at.exp_avg_sq);
  group.master = kept(at.master);
  return group;
}

}  // namespace galvatron::runtime
