// How long a layer's phases last when the layer follows itself. The runtime gathers the parameters of the
// next layer that needs them and reduces the gradients of the one before while a layer computes, so per
// micro-batch a layer costs the longer of both, with the harm that they do each other; the sync of the last
// micro-batch hides under the same compute. The ring of context parallelism runs beside the steps between its
// start and its wait. What the deck turns off, and everything else, is played one after the other; who meets
// in a collective waits for the last to come, the longer the more all had to compute since the last meeting.
#include <algorithm>

#include "cost/layer_price.hpp"
#include "deck/sections.hpp"

namespace galvatron::cost {
namespace {

using program::Phase;

/// Harm to compute goes to the term of the phase's direction.
size_t contention_term(Phase phase) {
  const auto& forward = program::forward_phases;
  return std::find(forward.begin(), forward.end(), phase) != forward.end() ? forward_contention
                                                                           : backward_contention;
}

/// The share of seconds that nobody measured.
double share(double modelled, double seconds) {
  return seconds > 0 ? modelled / seconds : 0;
}

}  // namespace

Overlap overlap_of(const deck::TrainSection& train, const deck::CheckpointSection& checkpoint) {
  return {train.overlap_gradients, train.overlap_parameters, train.overlap_ring,
          checkpoint.asynchronous && checkpoint.every > 0, true};
}

LayerPrice CostModel::price(const program::Program& program, const StagePlace& place) {
  const Digest whole = digest(program, place);
  return price(DigestPair(whole), program.strategy, program.samples, place);
}

LayerPrice CostModel::price(const DigestPair& pair, const spec::LayerStrategy& strategy, int64_t samples,
                            const StagePlace& place) {
  LayerPrice price;
  price.memory = pair.memory();
  if (overlap_.saves) price.pieces = pair.groups().pieces;
  if (overlap_.checkpoints) price.copy_bytes = pair.groups().state_bytes;
  const PricedAt at{pair, strategy, place, durations(pair.compute(), strategy, place),
                    durations(pair.groups(), strategy, place)};
  price_direction(at, program::forward_phases, price);
  price_sync(at, price_direction(at, program::backward_phases, price), price);
  for (const Phase phase : {Phase::gradient_norm, Phase::update}) {
    const Played played = play(at, phase, price.term_seconds);
    price.phase_seconds[static_cast<size_t>(phase)] = played.seconds;
    price.modelled_seconds += played.modelled;
  }
  const double data =
      static_cast<double>(pair.compute().reads * samples) * profile_.model.loader_seconds_per_token;
  price.phase_seconds[static_cast<size_t>(Phase::forward)] += data;
  price.term_seconds[data_wait] += data;
  return price;
}

std::vector<Seconds> CostModel::durations(const Digest& digest, const spec::LayerStrategy& strategy,
                                          const StagePlace& place) {
  std::vector<Seconds> durations;
  durations.reserve(digest.collectives.size());
  for (const DigestCollective& collective : digest.collectives)
    durations.push_back(collective_seconds(collective, strategy, place));
  return durations;
}

Seconds CostModel::PricedAt::duration(const DigestStep& step, const DigestPair::Played& phase) const {
  if (step.kind != DigestStep::Kind::collective) return {step.seconds, step.modelled};
  return (phase.of_groups ? of_groups : of_compute)[static_cast<size_t>(step.number)];
}

/// Neighbouring sizes of the measured kind and shape say how much it harms compute; unmeasured, it does not.
Talk CostModel::talk_of(const PricedAt& at, const DigestStep& step, const DigestPair::Played& phase) {
  Talk talk{at.duration(step, phase).seconds, 1, 1};
  if (step.kind != DigestStep::Kind::collective) return talk;
  const Digest& digest = phase.of_groups ? at.pair.groups() : at.pair.compute();
  const auto& [kind, axes, bytes] = digest.collectives[static_cast<size_t>(step.number)];
  const auto& shapes = shapes_of(at.strategy, axes, at.place);
  if (shapes.empty()) return talk;
  const auto* row = interference_of(profile_.hardware, kind, shapes.front(), bytes);
  if (row == nullptr) return talk;
  talk.compute_factor = std::max(1.0, row->compute);
  talk.talk_factor = std::max(1.0, row->collective);
  return talk;
}

/// What is waited for the last member of the collective's group.
double CostModel::lateness(const PricedAt& at, const DigestStep& step, const DigestPair::Played& phase,
                           double computed) {
  const Digest& digest = phase.of_groups ? at.pair.groups() : at.pair.compute();
  const auto& collective = digest.collectives[static_cast<size_t>(step.number)];
  const auto& shapes = shapes_of(at.strategy, collective.axes, at.place);
  return shapes.empty() ? 0 : lateness_of(profile_.hardware, shapes.front(), computed);
}

CostModel::Played CostModel::play(const PricedAt& at, Phase phase, TermSeconds& terms) {
  /// A transfer that was started: what it is waited for counts for its term.
  struct UnderWay {
    int32_t ticket = 0;
    size_t number = 0, term = 0;
  };
  Played played;
  TwoStreams streams;
  std::vector<UnderWay> under_way;
  std::vector<const DigestStep*> meetings;
  double computed = 0;
  const auto wait = [&](const UnderWay& one) {
    const double before = streams.waited();
    streams.wait(one.number);
    terms[one.term] += streams.waited() - before;
  };
  const DigestPair::Played steps = at.pair.phase(phase);
  const auto play_step = [&](const DigestStep& step) {
    if (step.kind == DigestStep::Kind::wait) {
      const auto found = std::find_if(under_way.begin(), under_way.end(),
                                      [&](const UnderWay& one) { return one.ticket == step.ticket; });
      if (found == under_way.end()) return;
      wait(*found);
      under_way.erase(found);
      return;
    }
    const Seconds duration = at.duration(step, steps);
    played.modelled += duration.modelled;
    if (step.ticket >= 0 && overlap_.ring) {
      under_way.push_back({step.ticket, streams.start(talk_of(at, step, steps)), step.term});
      return;
    }
    if (step.kind == DigestStep::Kind::collective)
      meetings.push_back(&step);
    else
      computed += duration.seconds;
    streams.compute(duration.seconds);
    terms[step.term] += duration.seconds;
  };
  for (const DigestStep& step : steps.clears) play_step(step);
  for (const DigestStep& step : steps.steps) play_step(step);
  for (const UnderWay& one : under_way) wait(one);
  for (const DigestStep* meeting : meetings) {
    const double late = lateness(at, *meeting, steps, computed / static_cast<double>(meetings.size()));
    streams.compute(late);
    terms[meeting->term] += late;
  }
  played.seconds = streams.now();
  if (streams.slowed() > 0) terms[contention_term(phase)] += streams.slowed();
  return played;
}

/// A phase that only moves: its collectives for the queue beside compute, and their term.
CostModel::Moved CostModel::move(const PricedAt& at, Phase phase) {
  Moved moved;
  const DigestPair::Played steps = at.pair.phase(phase);
  moved.talks.reserve(steps.steps.size());
  for (const DigestStep& step : steps.steps) {
    const Seconds duration = at.duration(step, steps);
    moved.modelled += duration.modelled;
    moved.talks.push_back(talk_of(at, step, steps));
    moved.seconds += duration.seconds;
    moved.term = step.term;
  }
  return moved;
}

/// gather, compute, reduce of one direction, as phases[0 … 2].
CostModel::Direction CostModel::price_direction(const PricedAt& at, std::span<const Phase> phases,
                                                LayerPrice& price) {
  const Played played = play(at, phases[1], price.term_seconds);
  price.modelled_seconds += played.modelled;
  price.phase_seconds[static_cast<size_t>(phases[1])] = played.seconds;
  Direction direction{played.seconds, {}};
  auto& talks = direction.talks;
  double beside_seconds = 0, beside_modelled = 0;
  const std::pair<Phase, bool> moves[] = {{phases[0], overlap_.parameters}, {phases[2], overlap_.gradients}};
  size_t term = 0;
  for (const auto& [phase, hides] : moves) {
    const Moved moved = move(at, phase);
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
void CostModel::price_sync(const PricedAt& at, Direction backward, LayerPrice& price) {
  const Moved moved = move(at, Phase::sync);
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
