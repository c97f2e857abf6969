// One queue for gathers and reductions: every rank of a group starts them in the same order, so no two wait
// for each other.

#include "runtime/state_traffic.hpp"

namespace galvatron::runtime {

using program::Phase;

StateTraffic::StateTraffic(Stage& stage, StepPlayer& here, StepPlayer& beside, SectionTimes& times,
                           const OverlapSettings& settings)
    : stage_(stage),
      here_(here),
      beside_(beside),
      times_(times),
      settings_(settings),
      above_(stage.layers()),
      below_(stage.layers()) {
  for (const auto& chunk : stage.program().chunks) find_neighbours(chunk);
}

void StateTraffic::find_neighbours(const plan::Chunk& chunk) {
  const auto first = static_cast<size_t>(chunk.first), end = first + static_cast<size_t>(chunk.size);
  std::optional<size_t> found;
  for (auto layer = end; layer-- > first;) {
    above_[layer] = found;
    if (has(layer, Phase::gather)) found = layer;
  }
  found.reset();
  for (auto layer = first; layer < end; ++layer) {
    below_[layer] = found;
    if (has(layer, Phase::backward_gather)) found = layer;
  }
}

bool StateTraffic::has(size_t layer, Phase phase) const {
  return !stage_.state_of(layer).program->steps(phase).empty();
}

comm::Background::Ticket StateTraffic::start(size_t layer, Phase phase) {
  // Two words, which std::function keeps without asking for memory.
  const auto what = static_cast<int64_t>(layer) * static_cast<int64_t>(program::all_phases.size()) +
                    static_cast<int64_t>(phase);
  return background_.submit([this, what] {
    constexpr auto phases = static_cast<int64_t>(program::all_phases.size());
    const auto number = static_cast<size_t>(what / phases);
    const auto phase = static_cast<Phase>(what % phases);
    const Traced traced(beside_trace_, slice_of(number, phase));
    beside_.play(stage_.state_of(number), phase, Section::gradient_sync);
  });
}

TraceSlice StateTraffic::slice_of(size_t layer, Phase phase) const {
  return {.kind = TraceKind::layer,
          .detail = static_cast<uint8_t>(phase),
          .layer = static_cast<int32_t>(stage_.program().layers[layer].layer)};
}

void StateTraffic::wait(comm::Background::Ticket ticket) {
  const Timed timed(times_, Section::gradient_sync);
  const Traced traced(trace_, {.kind = TraceKind::wait});
  background_.wait(ticket);
}

void StateTraffic::play_now(size_t layer, Phase phase) {
  // Gathers and reductions share communicators: where one kind is beside, the other is too, if only to be
  // waited for.
  if (settings_.gradients == Overlap::on || settings_.parameters == Overlap::on)
    wait(start(layer, phase));
  else {
    const Traced traced(trace_, slice_of(layer, phase));
    here_.play(stage_.state_of(layer), phase, Section::gradient_sync);
  }
}

void StateTraffic::gather(size_t layer, Phase phase) {
  const bool needed = has(layer, phase);
  if (needed && ahead_ && ahead_->layer == layer && ahead_->phase == phase) {
    wait(ahead_->ticket);
    ahead_.reset();
  } else if (needed) {
    // A gather that is still under way was for a layer that is not played next; its buffer may be this one.
    if (ahead_) wait(ahead_->ticket);
    ahead_.reset();
    play_now(layer, phase);
  }
  const auto next = (phase == Phase::gather ? above_ : below_)[layer];
  if (settings_.parameters == Overlap::off || !next || ahead_) return;
  if (needed && stage_.gather_buffer(*next) == stage_.gather_buffer(layer)) return;
  ahead_ = Ahead{*next, phase, start(*next, phase)};
}

void StateTraffic::claim_gradients(size_t layer, Phase phase) {
  if (!has(layer, phase)) return;
  auto& ticket = reducing_[static_cast<size_t>(stage_.reduce_buffer(layer))];
  if (!ticket) return;
  wait(*ticket);
  ticket.reset();
}

void StateTraffic::reduce(size_t layer, Phase phase) {
  if (!has(layer, phase)) return;
  if (settings_.gradients == Overlap::off) return play_now(layer, phase);
  const auto ticket = start(layer, phase);
  if (phase != Phase::sync) reducing_[static_cast<size_t>(stage_.reduce_buffer(layer))] = ticket;
}

void StateTraffic::drain() {
  const Timed timed(times_, Section::gradient_sync);
  const Traced traced(trace_, {.kind = TraceKind::wait});
  background_.drain();
  ahead_.reset();
  reducing_ = {};
}

}  // namespace galvatron::runtime
