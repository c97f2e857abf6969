// Sums the layers of each pipeline rank and lets the simulator play the pipeline. Memory is accounted with
// the same functions that lay out the arena.
#include "cost/plan_price.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/errors.hpp"
#include "cost/group_reserve.hpp"
#include "plan/flow.hpp"
#include "plan/lowering.hpp"
#include "spec/token_layout.hpp"

namespace galvatron::cost {
namespace {

using program::Phase;

/// One pipeline rank: all its stages together.
struct RankSum {
  StageTimes times;
  TermSeconds terms{};
  double modelled = 0;  ///< seconds, each layer's actions counted once
  double whole = 0;     ///< likewise, measured ones included
  StageMemory memory;
  int64_t pieces = 0;  ///< of state that one member saves
};

/// Prices the stages of a plan. Times are those of a stage's first rank, which has the most samples in every
/// layout, and of the slowest rank in a transition.
class PlanPricer {
 public:
  PlanPricer(const plan::Plan& plan, const spec::ModelSpec& model, core::DType dtype, LayerPricer& pricer)
      : plan_(plan), model_(model), dtype_(dtype), pricer_(pricer), shape_(plan.pipeline()) {
    for (int64_t stage = 0; stage < shape_.stages(); ++stage)
      slots_.push_back(plan::in_flight(plan.schedule, shape_, stage % shape_.ranks,
                                       static_cast<int32_t>(stage / shape_.ranks)));
    for (int64_t layer = 0; layer < model.size(); ++layer) {
      const auto like = [&](int64_t other) {
        return model.layers[static_cast<size_t>(other)] == model.layers[static_cast<size_t>(layer)];
      };
      const auto found = std::find_if(typical_.begin(), typical_.end(), like);
      kind_of_.push_back(found - typical_.begin());
      if (found == typical_.end()) typical_.push_back(layer);
    }
  }

  /// Micro-batches in flight, per stage.
  const std::vector<int64_t>& slots() const { return slots_; }

  /// Adds the stage to its pipeline rank's sum.
  StageTimes add_stage(int64_t stage, RankSum& sum) {
    StageTimes times;
    for (const auto& item : plan::flow_of(plan_, stage)) {
      const LayerPrice& price = price_of(item, stage);
      times.forward += price.seconds(program::forward_phases);
      times.backward += price.seconds(program::backward_phases);
      times.sync += price.seconds(Phase::sync) + price.seconds(Phase::gradient_norm);
      times.update += price.seconds(Phase::update);
      for (size_t i = 0; i < time_term_count; ++i) sum.terms[i] += price.term_seconds[i];
      sum.modelled += price.modelled_seconds;
      sum.pieces += price.pieces;
      for (const double seconds : price.phase_seconds) sum.whole += seconds;
    }
    if (stage < shape_.ranks) {
      const Seconds agreement = pricer_.model().agreement();
      times.update += agreement.seconds;
      sum.terms[cost::agreement] += agreement.seconds;
      sum.modelled += agreement.modelled;
      sum.whole += agreement.seconds;
    }
    sum.times.forward += times.forward;
    sum.times.backward += times.backward;
    sum.times.sync += times.sync;
    sum.times.update += times.update;
    const auto here = stage % shape_.ranks;
    if (stage + 1 < shape_.stages())
      times.send_forward = seconds_to((stage + 1) % shape_.ranks, here, plan::output_strategy(plan_, stage));
    if (stage > 0)
      times.send_backward = seconds_to((stage - 1) % shape_.ranks, here, plan::input_strategy(plan_, stage));
    return times;
  }

  /// Of the fullest member. Without transitions that is the first; with them one that keeps little of its own
  /// rows may need more room for those of others.
  StageMemory memory_of(int64_t pipeline_rank) {
    StageMemory most = memory_of_member(pipeline_rank, 0);
    const auto parts = parts_of(pipeline_rank);
    if (parts.transitions.empty()) return most;
    std::set<std::vector<int64_t>> seen = {parts.key_of(0)};
    for (int64_t member = 1; member < plan_.ranks_per_stage(); ++member) {
      if (!seen.insert(parts.key_of(member)).second) continue;
      const auto other = memory_of_member(pipeline_rank, member);
      if (other.total() > most.total()) most = other;
    }
    return most;
  }

 private:
  /// A price that was asked for: layers and stages that are alike ask again and again.
  struct Known {
    int64_t kind = 0;
    spec::LayerStrategy strategy;
    StagePlace place;
    const LayerPrice* price = nullptr;
  };

  /// All that tells the memory of one member of a stage from another's: its samples in each layout and its
  /// transitions. Large stages have few kinds of members.
  struct Parts {
    std::vector<spec::TokenLayout> layouts;
    std::vector<const TransitionPrice*> transitions;

    std::vector<int64_t> key_of(int64_t member) const {
      std::vector<int64_t> key;
      for (const auto& layout : layouts)
        key.push_back(layout.samples_of(spec::MeshShape(layout.strategy, 0).coordinate_of(member).dp).size());
      for (const auto* transition : transitions) {
        const auto& need = transition->memory_of(member);
        key.insert(key.end(), {need.persistent_bytes(), need.saved_bytes, need.work_bytes,
                               need.gathered_bytes, need.unreduced_bytes});
      }
      return key;
    }
  };

  Parts parts_of(int64_t pipeline_rank) {
    Parts parts;
    const auto add = [&](const spec::LayerStrategy& strategy) {
      const auto same = [&](const auto& layout) { return layout.strategy.dp == strategy.dp; };
      if (std::none_of(parts.layouts.begin(), parts.layouts.end(), same))
        parts.layouts.push_back({plan_.samples_per_micro(), model_.seq, strategy});
    };
    for (auto stage = pipeline_rank; stage < shape_.stages(); stage += shape_.ranks) {
      for (const auto& item : plan::flow_of(plan_, stage)) {
        if (item.is_transition())
          parts.transitions.push_back(&transition(item, stage));
        else
          add(plan_.layers[static_cast<size_t>(item.layer)]);
      }
      if (stage > 0) add(plan::input_strategy(plan_, stage));
    }
    return parts;
  }

  program::LayerContext context_of(const plan::FlowItem& item, int64_t stage, int64_t member) const {
    const auto rank = plan_.ranks().rank_at(stage % shape_.ranks, member);
    auto context = plan::context_of(plan_, model_, item.layer, rank, dtype_);
    context.coordinate = {};  // sizes depend on the number of samples alone
    return context;
  }

  const LayerPrice& price_of(const plan::FlowItem& item, int64_t stage) {
    if (item.is_transition()) return transition(item, stage).slowest;
    const auto kind = kind_of_[static_cast<size_t>(item.layer)];
    const auto& strategy = plan_.layers[static_cast<size_t>(item.layer)];
    const auto place = place_of(plan_, stage);
    const auto first = place.tie_distance != 0
                           ? place.first_rank
                           : pricer_.canonical(place.first_rank, strategy.ranks(), place.stride);
    const StagePlace alike{first, place.stride, place.tie_distance};
    for (const Known& known : known_)
      if (known.kind == kind && known.place == alike && known.strategy == strategy) return *known.price;
    const auto& price =
        pricer_.price(model_.layers[static_cast<size_t>(item.layer)], context_of(item, stage, 0), place);
    known_.push_back({kind, strategy, alike, &price});
    return price;
  }

  /// Memory of a layer, or of a transition, on a member of the stage.
  const program::MemoryNeed& need_of(const plan::FlowItem& item, int64_t stage, int64_t member) {
    if (item.is_transition()) return transition(item, stage).memory_of(member);
    if (member == 0) return price_of(item, stage).memory;
    return pricer_
        .price(model_.layers[static_cast<size_t>(item.layer)], context_of(item, stage, member),
               place_of(plan_, stage))
        .memory;
  }

  const TransitionPrice& transition(const plan::FlowItem& item, int64_t stage) {
    return pricer_.price(plan::transition_context(plan_, model_, item, 0, dtype_), place_of(plan_, stage));
  }

  StageMemory memory_of_member(int64_t pipeline_rank, int64_t member) {
    StageMemory memory;
    memory.reserve_bytes = pricer_.model().reserve_bytes();
    for (auto stage = pipeline_rank; stage < shape_.stages(); stage += shape_.ranks) {
      const auto slots = slots_[static_cast<size_t>(stage)];
      int64_t index = 0;
      for (const auto& item : plan::flow_of(plan_, stage)) {
        const auto& need = need_of(item, stage, member);
        plan::account_layer(memory.arena, need, slots);
        memory.sum.parameter_bytes += need.parameter_bytes;
        memory.sum.gradient_bytes += need.gradient_bytes;
        memory.sum.master_bytes += need.master_bytes;
        memory.sum.moment_bytes += need.moment_bytes;
        if (!item.is_transition()) memory.copy_bytes += price_of(item, stage).copy_bytes;
        if (index > 0) plan::account_flow(memory.arena, index - 1, bytes_of(item.from, member));
        ++index;
      }
      if (stage > 0)
        plan::account_boundary(memory.arena, bytes_of(plan::input_strategy(plan_, stage), member));
      if (stage + 1 < shape_.stages())
        plan::account_boundary(memory.arena, bytes_of(plan::output_strategy(plan_, stage), member));
    }
    return memory;
  }

  int64_t bytes_of(const spec::LayerStrategy& strategy, int64_t member) const {
    return plan::rows_of(plan_, model_, strategy, member) * model_.layers.front().dims.hidden *
           core::size_of(dtype_);
  }

  double seconds_to(int64_t to, int64_t from, const spec::LayerStrategy& strategy) const {
    return boundary_seconds(pricer_, from, to, plan_.ranks(), bytes_of(strategy, 0));
  }

  const plan::Plan& plan_;
  const spec::ModelSpec& model_;
  core::DType dtype_;
  LayerPricer& pricer_;
  plan::PipelineShape shape_;
  std::vector<int64_t> slots_;
  std::vector<int64_t> typical_, kind_of_;  ///< layers that differ; which of them each one is like
  std::vector<Known> known_;
};

plan::StagePrediction prediction_of(const RankSum& sum, int64_t micros) {
  plan::StagePrediction prediction;
  prediction.forward_seconds = sum.times.forward;
  prediction.backward_seconds = sum.times.backward;
  prediction.step_seconds = sum.times.sync + sum.times.update;
  prediction.memory_bytes = sum.memory.total();
  for (size_t i = 0; i < time_term_count; ++i) {
    const TimeTerm& term = time_terms()[i];
    const double times = term.frequency == Frequency::per_micro ? static_cast<double>(micros) : 1.0;
    if (sum.terms[i] > 0) prediction.time_terms.push_back({std::string(term.name), times * sum.terms[i]});
  }
  for (const MemoryTerm& term : memory_terms())
    if (const int64_t bytes = term.bytes(sum.memory); bytes > 0)
      prediction.memory_terms.push_back({std::string(term.name), static_cast<double>(bytes)});
  return prediction;
}

/// Plan files show no more digits than mean something, and the same ones whatever the compiler fused.
double whole_nanoseconds(double seconds) {
  return std::round(seconds * 1e9) / 1e9;
}

}  // namespace

int64_t PlanPrice::memory_bytes() const {
  int64_t most = 0;
  for (const auto& stage : memory) most = std::max(most, stage.total());
  return most;
}

StagePlace place_of(const plan::Plan& plan, int64_t stage) {
  const auto shape = plan.pipeline();
  const auto ranks = plan.ranks();
  const auto distance = ranks.rank_at(shape.ranks - 1, 0) - ranks.rank_at(0, 0);
  StagePlace place{plan.first_rank_of_stage(stage), ranks.stride(), 0};
  if (stage == 0) place.tie_distance = distance;
  if (distance > 0 && stage + 1 == shape.stages()) place.tie_distance = -distance;
  return place;
}

double boundary_seconds(const LayerPricer& pricer, int64_t from, int64_t to, const plan::StageRanks& ranks,
                        int64_t bytes) {
  const auto& cluster = pricer.model().cluster();
  double slowest = 0;
  for (int64_t member = 0; member < ranks.members; ++member) {
    const bool same =
        cluster.node_of(ranks.rank_at(from, member)) == cluster.node_of(ranks.rank_at(to, member));
    slowest =
        std::max(slowest, pricer.model()
                              .hardware()
                              .transfer(same ? Tier::same_node : Tier::across, static_cast<double>(bytes))
                              .seconds);
    if (!same) break;  // no pair is slower
  }
  return slowest;
}

int64_t activation_bytes(const spec::ModelSpec& model, const spec::LayerStrategy& strategy,
                         int64_t samples_per_micro, core::DType dtype) {
  const spec::TokenLayout layout{samples_per_micro, model.seq, strategy};
  return layout.rows_of({}) * model.layers.front().dims.hidden * core::size_of(dtype);
}

int64_t copy_bytes(const plan::StagePrediction& stage) {
  for (const auto& term : stage.memory_terms)
    if (term.name == "copies") return static_cast<int64_t>(term.amount);
  return 0;
}

PlanPrice price_plan(const plan::Plan& plan, const spec::ModelSpec& model, core::DType dtype,
                     const Profile& profile, const spec::ClusterSpec& cluster,
                     const program::WorkspaceRule& workspace, Overlap overlap) {
  LayerPricer pricer(profile, cluster, workspace, overlap);
  auto price = price_plan(plan, model, dtype, pricer);
  if (!overlap.checkpoints || cluster.memory_bytes <= 0 || price.memory_bytes() <= cluster.memory_bytes)
    return price;
  overlap.checkpoints = false;
  LayerPricer without(profile, cluster, workspace, overlap);
  return price_plan(plan, model, dtype, without);
}

/// What cannot keep the limits gets no predictions; what is too slow is not asked for its memory either.
PlanPrice price_plan(const plan::Plan& plan, const spec::ModelSpec& model, core::DType dtype,
                     LayerPricer& pricer, const PriceLimits& limits) {
  PlanPrice price;
  const auto shape = plan.pipeline();
  PlanPricer parts(plan, model, dtype, pricer);
  std::vector<RankSum> sums(static_cast<size_t>(shape.ranks));
  for (int64_t stage = 0; stage < shape.stages(); ++stage)
    price.times.push_back(parts.add_stage(stage, sums[static_cast<size_t>(stage % shape.ranks)]));
  price.step_seconds = least_makespan(price.times, parts.slots(), shape);
  if (price.step_seconds >= limits.step_seconds) return price;
  const auto groups = group_reserve(plan, model, pricer.model().reserve_units(), pricer.model().cluster());
  double modelled = 0, whole = 0;
  int64_t pieces = 0;
  for (const auto& sum : sums) pieces += sum.pieces * plan.ranks_per_stage();
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    RankSum& sum = sums[static_cast<size_t>(rank)];
    sum.memory = parts.memory_of(rank);
    if (pieces > 0)
      sum.memory.saving_bytes =
          pieces * saving_bytes_per_piece + sum.pieces * saving_bytes_per_own_piece + saving_window_bytes;
    sum.memory.group_bytes = groups[static_cast<size_t>(rank)];
    price.memory.push_back(sum.memory);
    modelled += sum.modelled;
    whole += sum.whole;
  }
  if (price.memory_bytes() > limits.memory_bytes) return price;
  for (const RankSum& sum : sums) price.stages.push_back(prediction_of(sum, plan.microbatches));
  price.modelled_share = whole > 0 ? modelled / whole : 0;
  price.simulation = simulate(plan::make_schedule(plan.schedule, shape), price.times, Keep::totals);
  price.step_seconds = price.simulation.makespan;
  return price;
}

plan::Plan with_predictions(plan::Plan plan, const PlanPrice& price, const Profile& profile) {
  plan.predicted_step_seconds = whole_nanoseconds(price.step_seconds);
  plan.predictions = price.stages;
  for (auto& stage : plan.predictions) {
    for (double* seconds : {&stage.forward_seconds, &stage.backward_seconds, &stage.step_seconds})
      *seconds = whole_nanoseconds(*seconds);
    for (auto& term : stage.time_terms) term.amount = whole_nanoseconds(term.amount);
  }
  plan.profile_fingerprint = profile.fingerprint;
  return plan;
}

}  // namespace galvatron::cost
