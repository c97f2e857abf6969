// Sums the layers of each stage and lets the simulator play the pipeline. Memory is accounted with the same
// functions that lay out the arena.
#include "cost/plan_price.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "plan/lowering.hpp"
#include "spec/token_layout.hpp"

namespace galvatron::cost {
namespace {

using program::Phase;

/// All layers of a stage together.
struct StageSum {
  StageTimes times;
  TermSeconds terms{};
  double modelled = 0;  ///< seconds, each layer's actions counted once
  double whole = 0;     ///< likewise, measured ones included
  StageMemory memory;
};

StageSum sum_of(const plan::Plan& plan, const spec::ModelSpec& model, core::DType dtype, LayerPricer& pricer,
                int64_t stage) {
  StageSum sum;
  const StagePlace place = place_of(plan, stage);
  const auto range = plan.stages[static_cast<size_t>(stage)];
  for (int64_t layer = range.first; layer <= range.last; ++layer) {
    const auto context = plan::context_of(plan, model, layer, stage * plan.ranks_per_stage(), dtype);
    const LayerPrice& price = pricer.price(model.layers[static_cast<size_t>(layer)], context, place);
    sum.times.forward += price.seconds(program::forward_phases);
    sum.times.backward += price.seconds(program::backward_phases);
    sum.times.sync += price.seconds(Phase::sync) + price.seconds(Phase::gradient_norm);
    sum.times.update += price.seconds(Phase::update);
    for (size_t i = 0; i < time_term_count; ++i) sum.terms[i] += price.term_seconds[i];
    sum.modelled += price.modelled_seconds;
    for (const double seconds : price.phase_seconds) sum.whole += seconds;
    plan::account_layer(sum.memory.arena, price.memory);
    sum.memory.sum.parameter_bytes += price.memory.parameter_bytes;
    sum.memory.sum.gradient_bytes += price.memory.gradient_bytes;
    sum.memory.sum.master_bytes += price.memory.master_bytes;
    sum.memory.sum.moment_bytes += price.memory.moment_bytes;
  }
  sum.memory.reserve_bytes = pricer.model().reserve_bytes();
  return sum;
}

plan::StagePrediction prediction_of(const StageSum& sum, int64_t micros) {
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
  for (const auto& stage : stages) most = std::max(most, stage.memory_bytes);
  return most;
}

StagePlace place_of(const plan::Plan& plan, int64_t stage) {
  const auto stages = static_cast<int64_t>(plan.stages.size());
  StagePlace place{stage * plan.ranks_per_stage(), 0};
  if (stages > 1 && stage == 0) place.tie_distance = (stages - 1) * plan.ranks_per_stage();
  if (stages > 1 && stage + 1 == stages) place.tie_distance = -(stages - 1) * plan.ranks_per_stage();
  return place;
}

double boundary_seconds(const LayerPricer& pricer, int64_t from_stage, int64_t ranks_per_stage,
                        int64_t bytes) {
  const auto& cluster = pricer.model().cluster();
  double slowest = 0;
  for (int64_t rank = from_stage * ranks_per_stage; rank < (from_stage + 1) * ranks_per_stage; ++rank) {
    const bool same = cluster.node_of(rank) == cluster.node_of(rank + ranks_per_stage);
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

PlanPrice price_plan(const plan::Plan& plan, const spec::ModelSpec& model, core::DType dtype,
                     LayerPricer& pricer) {
  PlanPrice price;
  const auto stages = static_cast<int64_t>(plan.stages.size());
  const auto lanes = plan::make_schedule(plan.schedule, {stages, plan.microbatches});
  const int64_t activation = activation_bytes(model, plan.layers.front(), plan.samples_per_micro(), dtype);
  double modelled = 0, whole = 0;
  for (int64_t stage = 0; stage < stages; ++stage) {
    StageSum sum = sum_of(plan, model, dtype, pricer, stage);
    sum.memory.arena.slots = plan::in_flight(lanes[static_cast<size_t>(stage)]);
    plan::account_flow(sum.memory.arena, activation, plan.stages[static_cast<size_t>(stage)].size(), stage,
                       stages);
    if (stage + 1 < stages)
      sum.times.send_forward = boundary_seconds(pricer, stage, plan.ranks_per_stage(), activation);
    if (stage > 0)
      sum.times.send_backward = boundary_seconds(pricer, stage - 1, plan.ranks_per_stage(), activation);
    price.stages.push_back(prediction_of(sum, plan.microbatches));
    price.memory.push_back(sum.memory);
    price.times.push_back(sum.times);
    modelled += sum.modelled;
    whole += sum.whole;
  }
  price.simulation = simulate(lanes, price.times);
  price.step_seconds = price.simulation.makespan;
  price.modelled_share = whole > 0 ? modelled / whole : 0;
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
