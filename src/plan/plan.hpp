#pragma once
// Everything that training needs to know about how to run, and nothing else. A plan written by hand is as
// good as a searched one.

#include <cstdint>
#include <string>
#include <vector>

#include "core/form.hpp"
#include "plan/placement.hpp"
#include "plan/schedule.hpp"
#include "spec/model.hpp"
#include "spec/strategy.hpp"

namespace galvatron::plan {

/// Layers first … last of the model's list, inclusive.
struct StageLayers {
  int64_t first = 0, last = 0;
  int64_t size() const { return last - first + 1; }
  bool operator==(const StageLayers&) const = default;
};

/// A named part of a prediction, e.g. {"forward gemm", 0.0123} in seconds or {"saved", 1048576} in bytes.
struct Term {
  std::string name;
  double amount = 0;
  bool operator==(const Term&) const = default;
};

/// What the cost model expects of one pipeline rank (of its fullest member), all its stages together.
struct StagePrediction {
  double forward_seconds = 0;      ///< per micro-batch
  double backward_seconds = 0;     ///< per micro-batch
  double step_seconds = 0;         ///< once per step: gradient sync, optimizer
  int64_t memory_bytes = 0;        ///< arena + reserve
  std::vector<Term> time_terms;    ///< seconds per step, adding up to the stage's busy time
  std::vector<Term> memory_terms;  ///< bytes, adding up to memory_bytes
  bool operator==(const StagePrediction&) const = default;
};

struct Plan {
  int64_t world = 1;
  int64_t batch = 1;         ///< samples per step
  int64_t microbatches = 1;  ///< divides batch
  ScheduleKind schedule = ScheduleKind::one_f_one_b;
  int64_t virtual_stages = 1;  ///< stages per pipeline rank; stage k is on pipeline rank k mod P
  Placement placement = Placement::stage_major;
  std::vector<StageLayers> stages;
  std::vector<spec::LayerStrategy> layers;  ///< one per layer of the model
  /// How groups of ranks do their collectives, by shape and size; what is not named is direct. Other forms
  /// may give other bits, so this is part of the plan.
  std::vector<core::FormChoice> forms;
  double predicted_step_seconds = 0;         ///< 0 = not priced
  std::vector<StagePrediction> predictions;  ///< one per pipeline rank, or none
  std::string model_fingerprint;
  std::string profile_fingerprint;

  int64_t pipeline_ranks() const { return static_cast<int64_t>(stages.size()) / virtual_stages; }
  PipelineShape pipeline() const { return {pipeline_ranks(), microbatches, virtual_stages}; }
  /// Every rank of the pipeline is this many ranks of the world.
  int64_t ranks_per_stage() const { return world / pipeline_ranks(); }
  StageRanks ranks() const { return {placement, pipeline_ranks(), ranks_per_stage()}; }
  int64_t pipeline_rank_of(int64_t rank) const { return ranks().stage_of(rank); }
  /// The rank's number among those of its stages.
  int64_t member_of(int64_t rank) const { return ranks().member_of(rank); }
  int64_t stage_of_layer(int64_t layer) const;
  int64_t first_rank_of_stage(int64_t stage) const { return ranks().rank_at(stage % pipeline_ranks(), 0); }
  int64_t samples_per_micro() const { return batch / microbatches; }
  bool operator==(const Plan&) const = default;
};

/// Every reason why the plan cannot be played for this model on `world` ranks, one line each; empty = legal.
std::vector<std::string> faults_of(const Plan& plan, const spec::ModelSpec& model, int64_t world);

/// plan.toml (no dates, hosts or rank counts beyond `world`): the same plan gives the same bytes, and reading
/// it back gives the same plan.
std::string to_toml(const Plan& plan, const spec::ModelSpec& model);
/// `file` names the text in errors. Throws core::UserError with all problems at once.
Plan plan_from_toml(std::string_view text, const std::string& file, const spec::ModelSpec& model);

}  // namespace galvatron::plan
