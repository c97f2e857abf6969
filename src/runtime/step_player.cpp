// Dispatch by kind of step.

#include "runtime/step_player.hpp"

#include "core/errors.hpp"
#include "core/form.hpp"
#include "program/epilogue.hpp"
#include "runtime/kernel_args.hpp"

namespace galvatron::runtime {

using program::Step;
using program::StepKind;

namespace {

TraceSlice slice_of(const Step& step, double begin, double end) {
  const auto* collective = std::get_if<program::CollectiveAttributes>(&step.attributes);
  if (collective == nullptr) return {begin, end, TraceKind::wait};
  return {begin, end, TraceKind::collective, static_cast<uint8_t>(collective->kind)};
}

bool communicates(const Step& step) {
  return step.kind == StepKind::collective || step.kind == StepKind::wait;
}

}  // namespace

void StepPlayer::set_loss_scale(double scale) {
  if (scale != loss_scale_ && graphs_ != nullptr) graphs_->forget();
  loss_scale_ = scale;
}

void StepPlayer::play(const LayerAddresses& layer, program::Phase phase, Section section) {
  const auto& steps = layer.program->steps(phase);
  auto begin = now();
  for (size_t at = 0; at < steps.size();) {
    const auto& step = steps[at];
    if (!communicates(step)) {
      at = play_run(layer, phase, at);
      continue;
    }
    if (poison_ != nullptr) poison_->work(layer, steps, at);
    ++at;
    const auto reached = now();
    times_.add(section, reached - begin);
    play(layer, step);
    begin = now();
    const auto* collective = std::get_if<program::CollectiveAttributes>(&step.attributes);
    times_.add(
        collective != nullptr && collective->gradient ? Section::gradient_sync : Section::tensor_parallel,
        begin - reached);
    if (trace_ != nullptr) trace_->put(slice_of(step, reached, begin));
  }
  if (poison_ != nullptr) poison_->unreduced(layer, phase);
  times_.add(section, now() - begin);
}

size_t StepPlayer::play_run(const LayerAddresses& layer, program::Phase phase, size_t begin) {
  const auto& steps = layer.program->steps(phase);
  auto end = begin;
  while (end < steps.size() && !communicates(steps[end])) ++end;
  // Other phases come once a step, with numbers of that step.
  const bool repeats = phase == program::Phase::forward || phase == program::Phase::backward;
  if (graphs_ == nullptr || poison_ != nullptr || watch_ || !repeats) {
    play_run(layer, phase, begin, end);
    return end;
  }
  graphs_->play(layer, phase, begin, [&] { play_run(layer, phase, begin, end); });
  progress_();
  return end;
}

void StepPlayer::play_run(const LayerAddresses& layer, program::Phase phase, size_t begin, size_t end) {
  const auto& steps = layer.program->steps(phase);
  for (auto at = begin; at < end; ++at) {
    const auto& step = steps[at];
    if (poison_ != nullptr) poison_->work(layer, steps, at);
    if (const auto kind = program::epilogue_at(*layer.program, steps, at)) {
      ++at;
      if (poison_ != nullptr) poison_->work(layer, steps, at);
      play(layer, step, steps[at], *kind);
    } else {
      play(layer, step);
    }
    if (graphs_ == nullptr || !graphs_->capturing()) progress_();
  }
}

void StepPlayer::play(const LayerAddresses& layer, const Step& step) {
  if (step.kind == StepKind::collective)
    collective(layer, step);
  else if (step.kind == StepKind::wait)
    wait(std::get<program::WaitAttributes>(step.attributes).ticket);
  else if (step.kind == StepKind::optimizer)
    optimize(layer, step);
  else
    compute(layer, step);
}

void StepPlayer::play(const LayerAddresses& layer, const Step& product, const Step& next,
                      core::EpilogueKind kind) {
  const Resolver view = [&](const program::Operand& operand) { return layer.view(operand); };
  kernels_.gemm_with(stream_, gemm_args(product, view), epilogue_args(kind, next, view));
}

void StepPlayer::compute(const LayerAddresses& layer, const Step& step) {
  const Resolver view = [&](const program::Operand& operand) { return layer.view(operand); };
  if (watch_ && step.kind == StepKind::cross_entropy) watch_(cross_entropy_args(step, view));
  auto read = [&](size_t i) { return layer.view(step.reads[i]); };
  auto write = [&](size_t i) { return layer.view(step.writes[i]); };
  switch (step.kind) {
    case StepKind::gemm:
      return kernels_.gemm(stream_, gemm_args(step, view));
    case StepKind::norm:
      return kernels_.norm(stream_, norm_args(step, view));
    case StepKind::norm_backward:
      return kernels_.norm_backward(stream_, norm_backward_args(step, view));
    case StepKind::activation:
      return kernels_.activation(stream_, std::get<program::ActivationAttributes>(step.attributes).kind,
                                 read(0), write(0));
    case StepKind::activation_backward:
      return kernels_.activation_backward(
          stream_, std::get<program::ActivationAttributes>(step.attributes).kind, read(0), read(1), write(0));
    case StepKind::attention:
      return kernels_.attention(stream_, attention_args(step, view));
    case StepKind::attention_backward:
      return kernels_.attention_backward(stream_, attention_backward_args(step, view));
    case StepKind::add:
      return kernels_.add(stream_, read(0), read(1), read(2), write(0));
    case StepKind::column_sum:
      return kernels_.column_sum(stream_, read(0), write(0));
    case StepKind::embedding:
      return kernels_.embedding(stream_, read(0), read(1),
                                std::get<program::LookupAttributes>(step.attributes).first_id, write(0));
    case StepKind::embedding_backward:
      return kernels_.embedding_backward(
          stream_, read(0), read(1), std::get<program::LookupAttributes>(step.attributes).first_id, write(0));
    case StepKind::positions:
      return kernels_.add_positions(stream_, read(0), read(1),
                                    std::get<program::PositionAttributes>(step.attributes).positions,
                                    write(0));
    case StepKind::positions_backward:
      return kernels_.add_positions_backward(
          stream_, read(0), std::get<program::PositionAttributes>(step.attributes).positions, write(0));
    case StepKind::rope:
      return kernels_.rope(stream_, rope_args(step, view));
    case StepKind::cross_entropy: {
      auto args = cross_entropy_args(step, view);
      args.scale *= loss_scale_;
      return kernels_.cross_entropy(stream_, args);
    }
    case StepKind::fill:
      return kernels_.fill(stream_, write(0), std::get<program::FillAttributes>(step.attributes).value);
    case StepKind::copy:
      return kernels_.copy(stream_, read(0), write(0));
    case StepKind::sum_of_squares:
      return kernels_.sum_of_squares(stream_, read(0), write(0));
    case StepKind::collective:
    case StepKind::optimizer:
    case StepKind::wait:
      break;
  }
  throw core::InternalError("a step that is not a compute step");
}

void StepPlayer::collective(const LayerAddresses& layer, const Step& step) {
  const auto& a = std::get<program::CollectiveAttributes>(step.attributes);
  auto& group = groups_(layer.program->strategy, a);
  GALV_ASSERT(group.size() == a.ranks, group.name(), group.size(), a.ranks);
  ++collectives_;
  if (pat_) {
    auto text = action_;
    text.add(", collective ").add(collectives_).add(": ").add(core::name_of(a.kind)).add(" of ");
    pat_(text.add(group.name()).view());
  }
  if (a.kind == core::CollectiveKind::exchange) return exchange(layer, step, group);
  const auto out = layer.view(step.writes[0]);
  const auto in = step.reads.empty() ? device::TensorView{} : layer.view(step.reads[0]);
  switch (a.kind) {
    case core::CollectiveKind::all_reduce:
      return group.all_reduce(out, a.reduce);
    case core::CollectiveKind::all_gather:
      return group.all_gather(in, out);
    case core::CollectiveKind::reduce_scatter:
      return group.reduce_scatter(in, out);
    case core::CollectiveKind::all_to_all:
      return group.all_to_all(in, out);
    case core::CollectiveKind::broadcast:
      return group.broadcast(out, 0);
    case core::CollectiveKind::shift:
      return start(group, a.ticket, in, out);
    case core::CollectiveKind::exchange:
      throw core::InternalError("an exchange names its peers: it is no step of a layer");
  }
}

void StepPlayer::exchange(const LayerAddresses& layer, const Step& step, comm::Communicator& group) {
  const auto& a = std::get<program::CollectiveAttributes>(step.attributes);
  sends_.clear();
  receives_.clear();
  for (size_t i = 0; i < step.reads.size(); ++i) sends_.push_back({layer.view(step.reads[i]), a.to[i]});
  for (size_t i = 0; i < step.writes.size(); ++i)
    receives_.push_back({layer.view(step.writes[i]), a.from[i]});
  group.exchange(sends_, receives_);
}

void StepPlayer::start(comm::Communicator& group, int32_t ticket, device::TensorView in,
                       device::TensorView out) {
  if (ticket < 0) return group.shift(in, out).wait();
  const auto at = static_cast<size_t>(ticket);
  if (ring_ == nullptr) {
    pending_[at] = group.shift(in, out);
    return;
  }
  transfers_[at] = {&group, in, out};
  // A pointer and a number: the queue keeps them without asking for memory.
  travelling_[at] = ring_->submit([this, at] {
    const Traced traced(ring_trace_, {.kind = TraceKind::transfer});
    const auto& t = transfers_[at];
    t.group->shift(t.in, t.out).wait();
  });
}

void StepPlayer::wait(int32_t ticket) {
  const auto at = static_cast<size_t>(ticket);
  pending_[at].wait();
  if (travelling_[at]) ring_->wait(*travelling_[at]);
  travelling_[at].reset();
}

void StepPlayer::optimize(const LayerAddresses& layer, const Step& step) {
  const auto parameter = layer.view(step.writes[0]), gradient = layer.view(step.writes[1]);
  if (update_.skip) return kernels_.fill(stream_, gradient, 0.0);
  const auto working = layer.view(step.writes[4]);
  if (update_.optimizer == core::OptimizerKind::sgd)
    return kernels_.sgd(stream_, parameter, gradient, working, update_.lr, update_.gradient_scale);
  kernels::AdamWArgs args;
  args.parameter = parameter;
  args.gradient = gradient;
  args.working = working;
  args.exp_avg = layer.view(step.writes[2]);
  args.exp_avg_sq = layer.view(step.writes[3]);
  args.decay = std::get<program::OptimizerAttributes>(step.attributes).decay;
  args.weight_decay = update_.weight_decay;
  args.lr = update_.lr;
  args.beta1 = update_.beta1;
  args.beta2 = update_.beta2;
  args.eps = update_.eps;
  args.gradient_scale = update_.gradient_scale;
  args.step = update_.step;
  kernels_.adamw(stream_, args);
}

}  // namespace galvatron::runtime
