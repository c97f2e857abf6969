#pragma once
// Which plans the parity and dry tests play: the full product of uniform plans, a small deterministic cover
// of it, and mixed plans drawn from a seed.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "spec/model.hpp"

namespace galvatron::testing {

enum class Family { gpt, llama };

/// A 2-block model, seq 12, 37 tokens (which no tp > 1 divides), 12 heads.
struct Variant {
  bool tied = true;
  bool bias = true;
  int64_t kv_heads = 12;
  Family family = Family::gpt;
};
spec::ModelSpec variant_model(const Variant& variant, int64_t hidden = 48);
/// RMSNorm, rotary positions, swiglu, no biases, an untied head, two query heads to a key/value head.
inline constexpr Variant llama{false, false, 6, Family::llama};
/// Tied or not, with bias or without, as many or fewer key/value heads; the two families.
const std::vector<Variant>& variants();

/// Every legal plan of `world` ranks whose layers share one strategy: stages × their sizes × tp × sp × cp ×
/// ZeRO × recompute × micro-batches × schedule. Embedding and head stay at the highest ZeRO level that is
/// legal for them. Combinations that mean the same (a schedule without stages, ZeRO levels without replicas)
/// occur once.
std::vector<plan::Plan> uniform_plans(const spec::ModelSpec& model, int64_t world, int64_t batch,
                                      const std::vector<int64_t>& micros);

/// A part of `plans` in which every pair of choices that occurs together in some plan occurs together.
/// Deterministic.
std::vector<plan::Plan> pairwise_cover(const std::vector<plan::Plan>& plans);

/// Every schedule with every number of stages, virtual stages and micro-batches that is legal for the batch,
/// fewer micro-batches than ranks included; one strategy (dp) and even stages.
std::vector<plan::Plan> schedule_plans(const spec::ModelSpec& model, int64_t world, int64_t batch);

/// Plan number `index` of a seed: layouts, ZeRO and recompute differ from layer to layer, stages are cut
/// anywhere, several on a rank where the schedule plays that. Legal. The same on every rank.
plan::Plan mixed_plan(const spec::ModelSpec& model, int64_t world, int64_t batch, uint64_t seed,
                      uint64_t index);

/// GALVATRON_TEST_SEED, or a fixed one.
uint64_t test_seed();
/// GALVATRON_TEST_FULL: play everything, however long it takes.
bool play_everything();

/// "2 ranks × 1 stages 1+5, 3 micro-batches, gpipe: tp2 dp2 zero1 | …", one strategy per run of equal layers.
std::string describe(const plan::Plan& plan);

}  // namespace galvatron::testing
