#pragma once
// (Program, profile) → seconds and bytes of one layer, by phase and by term.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cost/hardware_price.hpp"
#include "cost/terms.hpp"
#include "program/lower.hpp"
#include "program/transition.hpp"
#include "spec/cluster.hpp"

namespace galvatron::cost {

/// Where the ranks of a stage lie, as far as prices depend on it.
struct StagePlace {
  int64_t first_rank = 0;
  int64_t tie_distance = 0;  ///< ranks to the other holder of a table that two stages share; 0 = none
  auto operator<=>(const StagePlace&) const = default;
};

using TermSeconds = std::array<double, time_term_count>;

struct LayerPrice {
  std::array<double, program::all_phases.size()> phase_seconds{};
  TermSeconds term_seconds{};
  double modelled_seconds = 0;  ///< of the above, not measured
  program::MemoryNeed memory;

  double seconds(program::Phase phase) const { return phase_seconds[static_cast<size_t>(phase)]; }
  double seconds(std::span<const program::Phase> phases) const {
    double sum = 0;
    for (const auto phase : phases) sum += seconds(phase);
    return sum;
  }
};

/// All ranks of the stage take part; they meet in the exchange, so the slowest one counts.
struct TransitionPrice {
  LayerPrice slowest;
  /// By rank in the stage. Where the same moves repeat along the stage, of the first ranks only.
  std::vector<program::MemoryNeed> members;

  const program::MemoryNeed& memory_of(int64_t rank_in_stage) const {
    return members[static_cast<size_t>(rank_in_stage) % members.size()];
  }
};

/// Prices Programs. The profile must outlive it.
class CostModel {
 public:
  CostModel(const Profile& profile, const spec::ClusterSpec& cluster);

  LayerPrice price(const program::Program& program, const StagePlace& place);
  const HardwarePrice& hardware() const { return hardware_; }
  const spec::ClusterSpec& cluster() const { return cluster_; }
  int64_t reserve_bytes() const { return profile_.hardware.reserve_bytes; }

 private:
  Seconds compute_seconds(const program::Program& program, const program::Step& step);
  Seconds price_of_compute(const program::Program& program, const program::Step& step) const;
  Seconds gemm_seconds(const program::Program& program, const program::Step& step) const;
  Seconds collective_seconds(const program::Program& program, const program::Step& step,
                             const StagePlace& place);
  Seconds exchange_seconds(const program::Program& program, const program::Step& step,
                           const StagePlace& place) const;
  const std::vector<GroupShape>& shapes_of(const spec::LayerStrategy& strategy, spec::AxisSet axes,
                                           const StagePlace& place);

  const Profile& profile_;
  spec::ClusterSpec cluster_;
  HardwarePrice hardware_;
  using ShapeKey = std::tuple<int32_t, int32_t, int32_t, int32_t, uint8_t, StagePlace>;
  std::map<ShapeKey, std::vector<GroupShape>> shapes_;
  std::unordered_map<std::string, Seconds> known_;  ///< by all that a step's duration depends on, as bytes
  std::string key_;                                 ///< of the step being looked up; kept for its storage
};

/// Lowers and prices each distinct (layer, context, place) once.
class LayerPricer {
 public:
  LayerPricer(const Profile& profile, const spec::ClusterSpec& cluster,
              const program::WorkspaceRule& workspace);

  /// For the stage's first rank, which has the most samples: the context's coordinate is the origin.
  const LayerPrice& price(const spec::LayerSpec& layer, const program::LayerContext& context,
                          StagePlace place);
  /// Of a transition between two layouts in a stage of as many ranks as they have.
  const TransitionPrice& price(const program::TransitionContext& context, StagePlace place);
  /// Of one rank in the middle: never more than the slowest takes, and found at once.
  double floor_seconds(program::TransitionContext context, StagePlace place);
  /// First ranks with equal results lie alike for a stage of so many ranks.
  int64_t canonical(int64_t first_rank, int64_t ranks) const;
  const CostModel& model() const { return model_; }
  int64_t lowered() const { return lowered_; }  ///< Programs made so far

 private:
  using Key =
      std::tuple<spec::LayerSpec, spec::LayerStrategy, int64_t, core::DType, program::TieScope, StagePlace>;

  using TransitionKey = std::tuple<spec::LayerStrategy, spec::LayerStrategy, int64_t, int64_t, int64_t,
                                   core::DType, StagePlace>;

  int64_t repeats_after(const program::TransitionContext& context) const;

  CostModel model_;
  const program::WorkspaceRule& workspace_;
  std::map<TransitionKey, TransitionPrice> transitions_;
  std::map<Key, LayerPrice> prices_;
  int64_t lowered_ = 0;
};

}  // namespace galvatron::cost
