// Fills go through the kernels, so they are ordered with the work before and after them on every device.

#include "runtime/poison.hpp"

#include <algorithm>
#include <limits>

namespace galvatron::runtime {

using program::Operand;
using program::Phase;
using program::Step;
using program::Storage;

namespace {

bool touches(const Step& step, program::ValueId value) {
  const auto is_it = [&](const Operand& operand) { return operand.value == value; };
  return std::any_of(step.reads.begin(), step.reads.end(), is_it) ||
         std::any_of(step.writes.begin(), step.writes.end(), is_it) || is_it(step.workspace);
}

}  // namespace

// bf16's NaN twice is one of fp32, and it is one of fp16; fp64 needs its own.
void Poison::fill(std::byte* data, int64_t bytes) {
  const auto wide = stage_.state_of(0).program->dtype == core::DType::f64;
  const auto dtype = wide ? core::DType::f64 : core::DType::bf16;
  const auto count = bytes / core::size_of(dtype);
  if (count == 0) return;
  kernels_.fill(stream_, device::vector(data, dtype, count), std::numeric_limits<double>::quiet_NaN());
}

void Poison::slot(int64_t chunk, int64_t slot) {
  fill(stage_.slot(chunk, slot), stage_.chunk(chunk).slot_bytes);
}

void Poison::flow(int64_t index) {
  fill(stage_.flow(index), stage_.program().arena.flow_bytes[static_cast<size_t>(index % 2)]);
}

void Poison::message(int64_t chunk, Stage::Message which) {
  const auto place = stage_.message(chunk, which);
  fill(place.data, place.bytes());
}

void Poison::work(const LayerAddresses& layer, const std::vector<Step>& steps, size_t step) {
  const auto fresh = [&](const Operand& operand) {
    if (!operand.present()) return;
    const auto& value = layer.program->value(operand.value);
    if (value.storage != Storage::work) return;
    for (size_t before = 0; before < step; ++before)
      if (touches(steps[before], operand.value)) return;
    fill(layer.work + value.offset, value.bytes());
  };
  for (const auto& operand : steps[step].reads) fresh(operand);
  for (const auto& operand : steps[step].writes) fresh(operand);
  fresh(steps[step].workspace);
}

void Poison::gathered(const LayerAddresses& layer) {
  const auto& program = *layer.program;
  for (size_t g = 0; g < program.groups.size(); ++g)
    if (program.placements[g].gathered >= 0)
      fill(layer.groups[g].weights, program.groups[g].padded * core::size_of(program.groups[g].dtype));
}

void Poison::unreduced(const LayerAddresses& layer, Phase reduced) {
  if (reduced != Phase::forward_reduce && reduced != Phase::backward_reduce) return;
  const auto& program = *layer.program;
  for (size_t g = 0; g < program.groups.size(); ++g) {
    const auto& group = program.groups[g];
    const bool in_forward = group.gradient_phase == Phase::forward;
    if (program.placements[g].unreduced < 0 || in_forward != (reduced == Phase::forward_reduce)) continue;
    fill(layer.groups[g].gradients, group.padded * core::size_of(group.accumulator()));
  }
}

}  // namespace galvatron::runtime
