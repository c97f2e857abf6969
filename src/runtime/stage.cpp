// The arena in the order of its regions: persistent, slots of each chunk, scratch (work, gathered, unreduced,
// flow), boundary.

#include "runtime/stage.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/random.hpp"
#include "program/memory.hpp"
#include "program/pieces.hpp"

namespace galvatron::runtime {
namespace {

/// Element i of a buffer of either floating type.
void store(std::byte* buffer, core::DType dtype, int64_t i, double value) {
  if (dtype == core::DType::f64)
    reinterpret_cast<double*>(buffer)[i] = value;
  else
    reinterpret_cast<float*>(buffer)[i] = static_cast<float>(value);
}

/// Elements of a tensor whose first values are made at once: bounds the scratch memory.
constexpr int64_t initialised_at_once = int64_t{1} << 20;

/// Where a rehearsal pretends that its arena is: no processor can address it, so a forgotten use faults.
std::byte* pretended_place() {
  constexpr uintptr_t place = uintptr_t{1} << 60;
  return reinterpret_cast<std::byte*>(place);
}

}  // namespace

Stage::Stage(device::Device& device, plan::StageProgram program)
    : program_(std::move(program)),
      arena_(device, program_.arena.total()),
      cells_(device, 2 * static_cast<int64_t>(sizeof(double))),
      memory_(device.kind() == device::DeviceKind::dry ? Memory::pretended : Memory::real),
      base_(memory_ == Memory::real ? arena_.data() : pretended_place()),
      water_(std::make_unique<HighWater>()) {
  lay_out();
}

void Stage::lay_out() {
  const auto& a = program_.arena;
  auto region = [&](int64_t bytes) { return base_ + water_->add_region(bytes); };
  persistent_ = region(a.persistent_bytes);
  for (const auto& chunk : program_.chunks) slots_.push_back(region(chunk.slots * chunk.slot_bytes));
  work_ = region(a.work_bytes);
  std::byte* const gathered[] = {region(a.gathered_bytes[0]), region(a.gathered_bytes[1])};
  std::byte* const unreduced[] = {region(a.unreduced_bytes[0]), region(a.unreduced_bytes[1])};
  flow_ = region(a.flow_bytes[0]);
  region(a.flow_bytes[1]);
  boundary_ = region(a.boundary_bytes);
  for (size_t c = 0; c < program_.chunks.size(); ++c)
    chunk_of_.insert(chunk_of_.end(), static_cast<size_t>(program_.chunks[c].size), static_cast<int64_t>(c));
  for (const auto& layer : program_.layers) {
    LayerAddresses at;
    at.program = layer.program.get();
    for (const auto& placement : layer.program->placements)
      at.groups.push_back(place(placement, persistent_ + layer.persistent_offset,
                                gathered[layer.gather_buffer], unreduced[layer.reduce_buffer]));
    at.work = work_;
    at.loss = cells_.data();
    at.gradient_norm = cells_.data() + sizeof(double);
    at.water = water_.get();
    at.arena = base_;
    at.memory = memory_;
    addresses_.push_back(std::move(at));
  }
  for (size_t i = 0; i < program_.layers.size(); ++i)
    if (program_.layers[i].tie_owner >= 0) adopt_owned_groups(i);
}

void Stage::adopt_owned_groups(size_t guest) {
  const auto& owner = addresses_[static_cast<size_t>(program_.layers[guest].tie_owner)];
  auto& at = addresses_[guest];
  for (size_t g = 0; g < at.groups.size(); ++g) {
    const auto& group = at.program->groups[g];
    if (group.tie != program::TieRole::guest) continue;
    const auto& owned = owner.program->groups;
    for (size_t o = 0; o < owned.size(); ++o)
      if (owned[o].name == group.name) at.groups[g].adopt(owner.groups[o]);
  }
}

void Stage::initialise(const spec::ModelSpec& model, uint64_t seed, device::HostWindow& window) {
  if (memory_ == Memory::pretended) return;
  for (size_t i = 0; i < layers(); ++i) {
    const auto& groups = addresses_[i].program->groups;
    for (size_t g = 0; g < groups.size(); ++g)
      if (groups[g].stored_here()) initialise_group(i, g, model, seed, window);
  }
}

void Stage::initialise_group(size_t layer, size_t number, const spec::ModelSpec& model, uint64_t seed,
                             device::HostWindow& window) {
  const auto& group = addresses_[layer].program->groups[number];
  const bool sharded = group.zero >= (group.has_master() ? 1 : 3);
  const auto begin = sharded ? group.replica_index * group.shard() : 0;
  const auto end = sharded ? begin + group.shard() : group.padded;
  const auto& at = addresses_[layer].groups[number];
  auto* buffer = group.has_master() ? at.master : (sharded ? at.weight_shard : at.weights);
  const auto element = core::size_of(group.accumulator());
  std::vector<double> values;
  for (const auto& run : program::runs_of(group, begin, end)) {
    const auto& p = group.parameters[static_cast<size_t>(run.parameter)];
    const auto name = program::tensor_name(p, model.names[static_cast<size_t>(program_.layers[layer].layer)]);
    const auto scale = p.init == program::InitKind::normal ? p.init_std : 1.0;
    for (int64_t time = 0; time < run.times; ++time) {
      const auto local = run.local + time * run.local_stride, global = run.global + time * run.global_stride;
      for (int64_t done = 0; done < run.count; done += initialised_at_once) {
        const auto count = std::min(initialised_at_once, run.count - done);
        values.assign(static_cast<size_t>(count), p.init == program::InitKind::ones ? 1.0 : 0.0);
        if (p.init == program::InitKind::normal)
          core::fill_normal(core::key_of(seed, name), static_cast<uint64_t>(global + done), values);
        const auto room = window.edit(buffer + (local - begin + done) * element, count * element);
        for (int64_t e = 0; e < count; ++e)
          store(room.data(), group.accumulator(), e, values[static_cast<size_t>(e)] * scale);
        window.put_back();
      }
    }
  }
}

LayerAddresses& Stage::addresses(size_t layer, int64_t slot) {
  auto& at = addresses_[layer];
  const auto owner = static_cast<size_t>(chunk_of_[layer]);
  at.saved = slots_[owner] + slot * program_.chunks[owner].slot_bytes + program_.layers[layer].saved_offset;
  at.input = at.output = at.output_gradient = at.input_gradient = nullptr;
  return at;
}

bool Stage::saves_input(size_t layer) const {
  const auto& program = *addresses_[layer].program;
  return program.input != program::no_value &&
         program.value(program.input).storage == program::Storage::saved;
}

std::byte* Stage::saved_input(size_t layer, int64_t slot) {
  GALV_ASSERT(saves_input(layer), layer);
  const auto& at = addresses(layer, slot);
  return at.saved + at.program->value(at.program->input).offset;
}

device::TensorView Stage::received_input(size_t layer, int64_t slot) {
  const auto& at = addresses(layer, slot);
  const auto& value = at.program->value(at.program->input);
  return at.view({at.program->input, 0, value.rows, 0, value.cols});
}

device::TensorView Stage::ids(size_t layer, int64_t slot, program::ValueId program::Program::*which) {
  const auto& at = addresses(layer, slot);
  const auto id = at.program->*which;
  return at.view({id, 0, 1, 0, at.program->value(id).cols});
}

device::TensorView Stage::tokens(size_t layer, int64_t slot) {
  return ids(layer, slot, &program::Program::tokens);
}

device::TensorView Stage::labels(size_t layer, int64_t slot) {
  return ids(layer, slot, &program::Program::labels);
}

std::byte* Stage::message_place(int64_t chunk, Message which) {
  const auto& owner = this->chunk(chunk);
  const bool inwards = which == Message::input || which == Message::input_gradient;
  const auto& end = inwards ? owner.input : owner.output;
  GALV_ASSERT(end.present(), chunk, static_cast<int>(which));
  const bool activation = which == Message::input || which == Message::output;
  return boundary_ + (activation ? end.activation_offset : end.gradient_offset);
}

device::TensorView Stage::message(int64_t chunk, Message which) {
  auto* place = message_place(chunk, which);
  const auto& owner = this->chunk(chunk);
  const auto& end = which == Message::input || which == Message::input_gradient ? owner.input : owner.output;
  const auto dtype = addresses_[0].program->dtype;
  water_->touch(place - base_, place - base_ + end.rows * end.cols * core::size_of(dtype));
  return device::matrix(memory_ == Memory::real ? place : nullptr, dtype, end.rows, end.cols);
}

int64_t Stage::high_water_bytes() const {
  return water_->bytes(program::memory_alignment);
}

}  // namespace galvatron::runtime
