// How long a layer's phases last when the layer follows itself. The runtime gathers the parameters of the
// next layer that needs them and reduces the gradients of the one before while a layer computes, so per
// micro-batch a layer costs the longer of both, with the harm that they do each other; the sync of the last
// micro-batch hides under the same compute. The ring of context parallelism runs beside the steps between its
// start and its wait. What the deck turns off, and everything else, is played one after the other.
#include <algorithm>

#include "cost/layer_price.hpp"
#include "cost/signature.hpp"
#include "deck/sections.hpp"

namespace galvatron::cost {
namespace {

using program::Phase;
using program::Program;
using program::Step;
using program::StepKind;

const program::CollectiveAttributes* collective_of(const Step& step) {
  return std::get_if<program::CollectiveAttributes>(&step.attributes);
}

/// Harm to compute goes to the term of the phase's direction.
size_t contention_term(Phase phase) {
  const auto& forward = program::forward_phases;
  return std::find(forward.begin(), forward.end(), phase) != forward.end() ? forward_contention
                                                                           : backward_contention;
}

/// This rank's share of weights and moments, in the precision of the optimizer: what it writes.
int64_t saved_state_bytes(const Program& program) {
  int64_t bytes = 0;
  for (const auto& group : program.groups)
    if (group.stored_here()) bytes += 3 * group.shard() * core::size_of(group.accumulator());
  return bytes;
}

/// The share of seconds that nobody measured.
double share(double modelled, double seconds) {
  return seconds > 0 ? modelled / seconds : 0;
}

}  // namespace

Overlap overlap_of(const deck::TrainSection& train, const deck::CheckpointSection& checkpoint) {
  return {train.overlap_gradients, train.overlap_parameters, train.overlap_ring,
          checkpoint.asynchronous && checkpoint.every > 0};
}

LayerPrice CostModel::price(const Program& program, const StagePlace& place) {
  LayerPrice price;
  price.memory = program.memory;
  if (overlap_.checkpoints) price.copy_bytes = saved_state_bytes(program);
  price_direction(program, program::forward_phases, place, price);
  price_sync(program, place, price_direction(program, program::backward_phases, place, price), price);
  for (const Phase phase : {Phase::gradient_norm, Phase::update}) {
    const Played played = play(program, phase, place, price.term_seconds);
    price.phase_seconds[static_cast<size_t>(phase)] = played.seconds;
    price.modelled_seconds += played.modelled;
  }
  const double data = data_seconds(program);
  price.phase_seconds[static_cast<size_t>(Phase::forward)] += data;
  price.term_seconds[data_wait] += data;
  return price;
}

/// Whole samples are read, whatever part of them the rank looks up.
double CostModel::data_seconds(const Program& program) const {
  const int reads =
      (program.tokens != program::no_value ? 1 : 0) + (program.labels != program::no_value ? 1 : 0);
  return static_cast<double>(reads * program.samples * program.layer.dims.seq) *
         profile_.model.loader_seconds_per_token;
}

Seconds CostModel::step_seconds(const Program& program, const Step& step, const StagePlace& place) {
  return step.kind == StepKind::collective ? collective_seconds(program, step, place)
                                           : compute_seconds(program, step);
}

/// Neighbouring sizes of the measured kind and shape say how much it harms compute; unmeasured, it does not.
Talk CostModel::talk_of(const Program& program, const Step& step, const StagePlace& place,
                        const Seconds& duration) {
  Talk talk{duration.seconds, 1, 1};
  const auto& attributes = *collective_of(step);
  const auto& shapes = shapes_of(program.strategy, attributes.axes, place);
  if (shapes.empty()) return talk;
  const auto* row = interference_of(profile_.hardware, attributes.kind, shapes.front(),
                                    static_cast<double>(collective_bytes(program, step)));
  if (row == nullptr) return talk;
  talk.compute_factor = std::max(1.0, row->compute);
  talk.talk_factor = std::max(1.0, row->collective);
  return talk;
}

CostModel::Played CostModel::play(const Program& program, Phase phase, const StagePlace& place,
                                  TermSeconds& terms) {
  /// A transfer that was started: what it is waited for counts for its term.
  struct UnderWay {
    int32_t ticket = 0;
    size_t number = 0, term = 0;
  };
  Played played;
  TwoStreams streams;
  std::vector<UnderWay> under_way;
  const auto wait = [&](const UnderWay& one) {
    const double before = streams.waited();
    streams.wait(one.number);
    terms[one.term] += streams.waited() - before;
  };
  for (const Step& step : program.steps(phase)) {
    if (const auto* attributes = std::get_if<program::WaitAttributes>(&step.attributes)) {
      const auto found = std::find_if(under_way.begin(), under_way.end(),
                                      [&](const UnderWay& one) { return one.ticket == attributes->ticket; });
      if (found == under_way.end()) continue;
      wait(*found);
      under_way.erase(found);
      continue;
    }
    const Seconds duration = step_seconds(program, step, place);
    const size_t term = time_term_of(phase, step);
    played.modelled += duration.modelled;
    const auto* collective = collective_of(step);
    if (collective != nullptr && collective->ticket >= 0 && overlap_.ring) {
      const size_t number = streams.start(talk_of(program, step, place, duration));
      under_way.push_back({collective->ticket, number, term});
      continue;
    }
    streams.compute(duration.seconds);
    terms[term] += duration.seconds;
  }
  for (const UnderWay& one : under_way) wait(one);
  played.seconds = streams.now();
  if (streams.slowed() > 0) terms[contention_term(phase)] += streams.slowed();
  return played;
}

/// A phase that only moves: its collectives for the queue beside compute, and their term.
CostModel::Moved CostModel::move(const Program& program, Phase phase, const StagePlace& place) {
  Moved moved;
  for (const Step& step : program.steps(phase)) {
    const Seconds duration = step_seconds(program, step, place);
    moved.modelled += duration.modelled;
    moved.talks.push_back(step.kind == StepKind::collective ? talk_of(program, step, place, duration)
                                                            : Talk{duration.seconds, 1, 1});
    moved.seconds += duration.seconds;
    moved.term = time_term_of(phase, step);
  }
  return moved;
}

/// gather, compute, reduce of one direction, as phases[0 … 2].
CostModel::Direction CostModel::price_direction(const Program& program, std::span<const Phase> phases,
                                                const StagePlace& place, LayerPrice& price) {
  const Played played = play(program, phases[1], place, price.term_seconds);
  price.modelled_seconds += played.modelled;
  price.phase_seconds[static_cast<size_t>(phases[1])] = played.seconds;
  Direction direction{played.seconds, {}};
  auto& talks = direction.talks;
  double beside_seconds = 0, beside_modelled = 0;
  const std::pair<Phase, bool> moves[] = {{phases[0], overlap_.parameters}, {phases[2], overlap_.gradients}};
  size_t term = 0;
  for (const auto& [phase, hides] : moves) {
    const Moved moved = move(program, phase, place);
    if (moved.talks.empty()) continue;
    term = moved.term;
    if (hides) {
      talks.insert(talks.end(), moved.talks.begin(), moved.talks.end());
      beside_seconds += moved.seconds;
      beside_modelled += moved.modelled;
      continue;
    }
    price.phase_seconds[static_cast<size_t>(phase)] = moved.seconds;
    price.term_seconds[moved.term] += moved.seconds;
    price.modelled_seconds += moved.modelled;
  }
  const TwoStreams streams = beside(played.seconds, talks);
  price.phase_seconds[static_cast<size_t>(phases[1])] += streams.slowed();
  price.phase_seconds[static_cast<size_t>(phases[0])] += streams.waited();
  price.term_seconds[contention_term(phases[1])] += streams.slowed();
  if (!talks.empty()) price.term_seconds[term] += streams.waited();
  price.modelled_seconds += streams.waited() * share(beside_modelled, beside_seconds);
  return direction;
}

/// The last backward has the sync beside it, after what every backward has.
void CostModel::price_sync(const Program& program, const StagePlace& place, Direction backward,
                           LayerPrice& price) {
  const Moved moved = move(program, Phase::sync, place);
  if (moved.talks.empty()) return;
  double seconds = moved.seconds;
  if (overlap_.gradients) {
    auto& [compute, talks] = backward;
    const double before = beside(compute, talks).now();
    talks.insert(talks.end(), moved.talks.begin(), moved.talks.end());
    seconds = beside(compute, talks).now() - before;
  }
  price.phase_seconds[static_cast<size_t>(Phase::sync)] = seconds;
  price.term_seconds[moved.term] += seconds;
  price.modelled_seconds += seconds * share(moved.modelled, moved.seconds);
}

}  // namespace galvatron::cost
