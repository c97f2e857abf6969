// The memory is laid out as in a stage, region after region, but for one layer and one micro-batch.
#include "measure/layer_bench.hpp"

#include <bit>
#include <cstring>

#include "core/errors.hpp"
#include "cost/profile.hpp"
#include "device/host_window.hpp"
#include "measure/budget.hpp"
#include "program/epilogue.hpp"
#include "program/memory.hpp"

namespace galvatron::measure {
namespace {

using program::ParameterGroup;
using program::Program;

constexpr int64_t buffers_of_a_guest = 5;  // weights, their masters, gradients and two moments

int64_t value_bytes(const Program& program, program::ValueId id) {
  return id == program::no_value ? 0 : program::aligned(program.value(id).bytes());
}

int64_t guest_buffer_bytes(const ParameterGroup& group) {
  return program::aligned(group.padded * core::size_of(group.accumulator()));
}

/// Hands out consecutive regions of the buffer.
class Regions {
 public:
  explicit Regions(std::byte* begin) : at_(begin) {}
  std::byte* take(int64_t bytes) {
    auto* here = at_;
    if (at_ != nullptr) at_ += program::aligned(bytes);
    return here;
  }

 private:
  std::byte* at_;
};

runtime::GroupAddresses guest_buffers(const ParameterGroup& group, Regions& regions) {
  runtime::GroupAddresses own;
  const auto bytes = guest_buffer_bytes(group);
  own.weights = own.weight_shard = regions.take(bytes);
  own.gradients = own.gradient_shard = regions.take(bytes);
  own.master = regions.take(bytes);
  own.exp_avg = regions.take(bytes);
  own.exp_avg_sq = regions.take(bytes);
  return own;
}

bool has_algorithms(program::StepKind kind) {
  using program::StepKind;
  return kind == StepKind::gemm || kind == StepKind::attention || kind == StepKind::attention_backward;
}

runtime::GroupFinder no_groups() {
  return [](const spec::LayerStrategy&, const program::CollectiveAttributes&) -> comm::Communicator& {
    throw core::InternalError("a layer bench plays no collectives");
  };
}

}  // namespace

int64_t bench_bytes(const Program& program) {
  const auto& need = program.memory;
  int64_t bytes = program::aligned(need.persistent_bytes()) + program::aligned(need.saved_bytes) +
                  program::aligned(need.work_bytes) + program::aligned(need.gathered_bytes) +
                  program::aligned(need.unreduced_bytes) + 2 * program::memory_alignment;
  for (const auto id : {program.output, program.output_gradient, program.input_gradient})
    bytes += value_bytes(program, id);
  for (const auto& group : program.groups)
    if (!group.stored_here()) bytes += buffers_of_a_guest * guest_buffer_bytes(group);
  return bytes;
}

LayerBench::LayerBench(device::Device& device, kernels::Kernels& kernels, const Program& program)
    : program_(program),
      kernels_(kernels),
      memory_(device, bench_bytes(program)),
      stream_(device.make_stream()),
      player_(kernels, *stream_, no_groups(), sections_) {
  runtime::UpdateSettings update;
  update.lr = 0;  // the weights stay as they are
  player_.set_update(update);
  lay_out();
  fill(device);
  for (const auto phase : program::all_phases) {
    auto& points = points_.emplace_back();
    for (const auto& step : program.steps(phase)) {
      const auto signature = cost::signature_of(program, step);
      points.push_back({signature.key, signature.rows});
    }
  }
}

void LayerBench::lay_out() {
  const auto& need = program_.memory;
  Regions regions(memory_.data());
  auto* persistent = regions.take(need.persistent_bytes());
  addresses_.program = &program_;
  addresses_.saved = regions.take(need.saved_bytes);
  addresses_.work = regions.take(need.work_bytes);
  auto* gathered = regions.take(need.gathered_bytes);
  auto* unreduced = regions.take(need.unreduced_bytes);
  addresses_.loss = regions.take(program::memory_alignment);
  addresses_.gradient_norm = regions.take(program::memory_alignment);
  addresses_.output = regions.take(value_bytes(program_, program_.output));
  addresses_.output_gradient = regions.take(value_bytes(program_, program_.output_gradient));
  addresses_.input_gradient = regions.take(value_bytes(program_, program_.input_gradient));
  for (size_t g = 0; g < program_.groups.size(); ++g) {
    auto group = runtime::place(program_.placements[g], persistent, gathered, unreduced);
    if (!program_.groups[g].stored_here()) group.adopt(guest_buffers(program_.groups[g], regions));
    addresses_.groups.push_back(group);
  }
}

void LayerBench::fill(device::Device& device) {
  device::HostWindow window(device, *stream_);
  // Ordinary numbers, read as one of 32 bits or as two of 16: zeros and tiny ones have another speed on some
  // processors.
  const auto words = memory_.bytes() / core::size_of(core::DType::f32);
  kernels_.fill(*stream_, device::vector(memory_.data(), core::DType::f32, words),
                std::bit_cast<float>(0x3c233c23U));
  for (auto* cell : {addresses_.loss, addresses_.gradient_norm})
    kernels_.fill(*stream_, device::vector(cell, core::DType::f64, 1), 0.0);
  stream_->synchronize();
  // Ids all over the vocabulary, as in text: lookups of one row would stay in the cache. A dry device has no
  // bytes.
  for (const auto id : {program_.tokens, program_.labels}) {
    if (id == program::no_value || memory_.data() == nullptr) continue;
    const auto& value = program_.value(id);
    const auto view = addresses_.view({id, 0, value.rows, 0, value.cols});
    auto* ids = reinterpret_cast<int32_t*>(window.edit(view.data, view.bytes()).data());
    for (int64_t i = 0; i < view.elements(); ++i)
      ids[i] = static_cast<int32_t>(i * 7919 % program_.layer.dims.vocab);
    window.put_back();
  }
}

void LayerBench::play(std::map<StepPoint, std::vector<double>>& times) {
  for (size_t phase = 0; phase < program::all_phases.size(); ++phase) {
    const auto& steps = program_.steps(program::all_phases[phase]);
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto& point = points_[phase][i];
      if (point.key.empty()) continue;
      const double begin = now_seconds();
      player_.play(addresses_, steps[i]);
      stream_->synchronize();
      times[point].push_back(now_seconds() - begin);
    }
  }
}

void LayerBench::play(std::span<const program::Phase> phases) {
  for (const auto phase : phases)
    for (const auto& step : program_.steps(phase))
      if (!cost::signature_of(program_, step).key.empty()) player_.play(addresses_, step);
  stream_->synchronize();
}

void LayerBench::play_chosen() {
  for (const auto phase : program::all_phases) {
    const auto& steps = program_.steps(phase);
    for (size_t at = 0; at < steps.size(); ++at) {
      if (!has_algorithms(steps[at].kind)) continue;
      if (const auto kind = program::epilogue_at(program_, steps, at))
        player_.play(addresses_, steps[at], steps[at + 1], *kind);
      else
        player_.play(addresses_, steps[at]);
    }
  }
  stream_->synchronize();
}

std::unique_ptr<LayerBench> make_bench(device::Device& device, kernels::Kernels& kernels,
                                       const program::Program& program, int64_t memory_bytes) {
  if (memory_bytes > 0 && bench_bytes(program) > memory_bytes) return nullptr;
  try {
    return std::make_unique<LayerBench>(device, kernels, program);
  } catch (const core::ResourceError&) {
    return nullptr;
  }
}

}  // namespace galvatron::measure
