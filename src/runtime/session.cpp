// Per step one sum carries the loss and the squared gradient norm, and one maximum every rank's requests.

#include "runtime/session.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "comm/world.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/half.hpp"
#include "device/topology.hpp"
#include "runtime/kernel_args.hpp"
#include "runtime/optimizer.hpp"
#include "runtime/snapshot.hpp"

namespace galvatron::runtime {
namespace {

/// Element `i` of floats of any type.
double number_of(std::span<const std::byte> bytes, core::DType dtype, int64_t i) {
  const auto* at = bytes.data() + i * core::size_of(dtype);
  if (dtype == core::DType::f64) {
    double value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  if (dtype == core::DType::f32) {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return static_cast<double>(value);
  }
  GALV_ASSERT(core::size_of(dtype) == 2, dtype);
  uint16_t half;
  std::memcpy(&half, at, sizeof(half));
  return static_cast<double>(dtype == core::DType::bf16 ? core::bf16_to_f32(half) : core::f16_to_f32(half));
}

/// Threads beside compute are for CPU ranks. Devices queue communication on streams of their own, and a
/// rehearsal makes its calls in one order.
OverlapSettings overlap_on(device::DeviceKind kind, const OverlapSettings& wanted) {
  if (kind == device::DeviceKind::cpu) return wanted;
  return {wanted.pipeline, Overlap::off, Overlap::off, Overlap::off};
}

}  // namespace

Session::Session(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                 const plan::Plan& plan, const spec::ModelSpec& model, const SessionOptions& options)
    : world_(world),
      plan_(plan),
      model_(model),
      before_update_(options.before_update),
      pat_(options.pat),
      dtype_(options.dtype),
      loss_scale_(options.loss_scale),
      stream_(device.make_stream()),
      window_(device, *stream_),
      feed_(device, *stream_) {
  groups_ = std::make_unique<LiveGroups>(world, plan, model, stream_.get());
  world.agree("allocate the model", [&] {
    const KernelWorkspace workspace(kernels);
    stage_ = std::make_unique<Stage>(device,
                                     plan::lower_stage(plan, model, world.rank(), options.dtype, workspace));
    stage_->initialise(model, options.seed, window_);
  });
  auto find = [this](const spec::LayerStrategy& strategy,
                     const program::CollectiveAttributes& collective) -> comm::Communicator& {
    return groups_->find(strategy, collective);
  };
  steps_ = std::make_unique<StepPlayer>(kernels, *stream_, find, times_);
  steps_->set_pat(options.pat);
  beside_ = std::make_unique<StepPlayer>(kernels, *stream_, find, beside_times_);
  const auto overlap = overlap_on(device.kind(), options.overlap);
  if (overlap.ring == Overlap::on) {
    ring_ = std::make_unique<comm::Background>();
    steps_->set_ring(ring_.get());
  }
  state_ = std::make_unique<StateTraffic>(*stage_, *steps_, *beside_, times_, overlap);
  player_ = std::make_unique<Player>(*stage_, *steps_, *state_, groups_->pipeline(), times_, options.pat,
                                     overlap.pipeline);
  if (options.recycled == Recycled::poisoned && device.kind() != device::DeviceKind::dry) {
    poison_ = std::make_unique<Poison>(*stage_, kernels, *stream_);
    player_->set_poison(poison_.get());
    steps_->set_poison(poison_.get());
    beside_->set_poison(poison_.get());
  }
  if (options.graphs == Graphs::on && stream_->captures() && poison_ == nullptr) {
    graphs_of_steps_ = std::make_unique<StepGraphs>(*stream_, options.note);
    steps_->set_graphs(graphs_of_steps_.get());
  }
  if (options.trace_steps > 0) start_trace(options.trace_steps);
  restore();
  // What lowering left behind: else it would stay beside the arena for the whole of training.
  device::give_back_free_memory();
}

void Session::start_trace(int64_t steps) {
  trace_ = std::make_unique<Trace>(stage_->program(), steps);
  player_->set_trace(&trace_->compute);
  steps_->set_trace(&trace_->compute, &trace_->ring);
  beside_->set_trace(&trace_->state, &trace_->ring);
  state_->set_trace(&trace_->compute, &trace_->state);
}

StepResult Session::step(MicroBatchSource& source, const deck::TrainSection& train, int64_t step,
                         Request request) {
  const auto begin = now();
  const Traced traced(trace_lane(), {.kind = TraceKind::step, .micro = static_cast<int32_t>(step + 1)});
  FedSource fed(feed_, source);
  steps_->set_loss_scale(loss_scale_.factor);
  player_->play_lane(fed);
  player_->measure_gradients();
  auto result = reduce(train, request);
  auto settings = update_settings(train, step, result.gradient_norm);
  settings.gradient_scale /= loss_scale_.factor;
  settings.skip = result.skipped;
  before_update_();
  player_->update(settings);
  result.lr = settings.lr;
  loss_scale_ = after_step(loss_scale_, result.skipped ? Overflow::found : Overflow::none, train);
  result.seconds = now() - begin;
  return result;
}

StepResult Session::reduce(const deck::TrainSection& train, Request request) {
  stream_->synchronize();
  double sums[2] = {stage_->loss(), stage_->gradient_norm()};
  double asked = static_cast<double>(request);
  {
    const Timed timed(times_, Section::gradient_sync);
    const Traced traced(trace_lane(), {.kind = TraceKind::agree});
    pat_("sum of loss and gradient norm over all ranks");
    world_.all_reduce(sums, core::ReduceOp::sum);
    world_.all_reduce(std::span(&asked, 1), core::ReduceOp::max);
  }
  StepResult result;
  result.loss_scale = loss_scale_.factor;
  if (!std::isfinite(sums[0]) || !std::isfinite(sums[1])) {
    // The same sums on every rank: all skip, or all end.
    result.skipped = scales_loss(train) && loss_scale_.skipped_in_a_row + 1 < train.max_skipped;
    if (!result.skipped) require_finite(stage_->loss(), stage_->gradient_norm());
  }
  result.loss = sums[0] / (static_cast<double>(plan_.batch) * static_cast<double>(model_.seq));
  result.gradient_norm = std::sqrt(sums[1]) / loss_scale_.factor;
  result.request = static_cast<Request>(static_cast<int32_t>(asked));
  return result;
}

std::string Session::first_non_finite() {
  const auto tensors = tensors_of(model_, dtype_);
  const auto dtype = core::accumulator_of(dtype_);
  // Backward runs from the last layer to the first, so the last one that is not finite was the first to be.
  std::string found = "none of this rank's slices of the gradients";
  for (const auto& piece : gradient_pieces_of(*stage_, model_, tensors)) {
    for (int64_t time = 0; time < piece.times; ++time) {
      const auto stretch = piece.stretch(time);
      const auto bytes = window_.look(stretch.data, stretch.count * core::size_of(dtype));
      for (int64_t e = 0; e < stretch.count; ++e) {
        const auto value = number_of(bytes, dtype, e);
        if (std::isfinite(value)) continue;
        const auto name =
            tensors[static_cast<size_t>(piece.tensor)].name.substr(std::string("model/").size());
        found = core::format("the gradient of {} (element {} is {})", name, stretch.offset + e, value);
        break;
      }
    }
  }
  return found;
}

void Session::require_finite(double loss, double squares) {
  const auto advice =
      loss_scale_.skipped_in_a_row > 0
          ? core::format("{} steps in a row were skipped, the loss scale is down to {}; try bf16",
                         loss_scale_.skipped_in_a_row + 1, loss_scale_.factor)
          : std::string(
                "try a lower train.lr or a longer train.warmup, or resume from an earlier checkpoint");
  world_.agree("check that loss and gradients are finite", [&] {
    if (std::isfinite(loss) && std::isfinite(squares)) return;
    throw core::Error(
        core::ExitCode::numerical,
        core::format("not finite: loss sum {}, squared gradient norm {} on pipeline rank {}, where backward "
                     "met it first in {}; {}",
                     loss, squares, stage_->program().pipeline_rank, first_non_finite(), advice));
  });
  world_.agree("", [] {
    throw core::Error(core::ExitCode::numerical,
                      "loss or gradient norm overflowed when summed over the ranks");
  });
}

double Session::evaluate(MicroBatchSource& source, int64_t micros) {
  // One slice stands for all of it, else the ring would hold nothing of the last steps.
  if (trace_) trace_->record(false);
  const auto begin = now();
  FedSource fed(feed_, source);
  player_->evaluate(fed, micros);
  stream_->synchronize();
  double sum = stage_->loss();
  world_.all_reduce(std::span(&sum, 1), core::ReduceOp::sum);
  if (trace_) {
    trace_->record(true);
    trace_->compute.put({begin, now(), TraceKind::evaluate});
  }
  return sum;
}

std::vector<double> Session::logits(MicroBatchSource& source) {
  // Every rank adds the part of the table that it has; a position is in the hands of one tensor-parallel
  // group.
  std::vector<double> out(static_cast<size_t>(model_.vocab));
  steps_->watch_logits([&](const kernels::CrossEntropyArgs& args) {
    if (args.phase != core::CrossEntropyPhase::whole && args.phase != core::CrossEntropyPhase::maximum)
      return;
    const auto rows = args.logits.rows;
    std::vector<int32_t> labels(static_cast<size_t>(rows));
    const auto seen = window_.look(args.labels.data, rows * static_cast<int64_t>(sizeof(int32_t)));
    std::memcpy(labels.data(), seen.data(), seen.size());
    for (int64_t row = 0; row < rows; ++row) {
      if (labels[static_cast<size_t>(row)] < 0) continue;
      const auto part = args.logits.row_range(row, 1);
      const auto bytes = window_.look(part.data, part.bytes());
      for (int64_t c = 0; c < part.cols; ++c)
        out[static_cast<size_t>(args.vocab_begin + c)] = number_of(bytes, part.dtype, c);
    }
  });
  FedSource fed(feed_, source);
  player_->evaluate(fed, 1);
  stream_->synchronize();
  steps_->watch_logits({});
  world_.all_reduce(out, core::ReduceOp::sum);
  return out;
}

}  // namespace galvatron::runtime
