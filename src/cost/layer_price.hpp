#pragma once
// (Program, profile) → seconds and bytes of one layer, by phase and by term.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cost/digest.hpp"
#include "cost/hardware_price.hpp"
#include "cost/terms.hpp"
#include "cost/two_streams.hpp"
#include "program/lower.hpp"
#include "program/transition.hpp"
#include "spec/cluster.hpp"

namespace galvatron::deck {
struct CheckpointSection;
struct TrainSection;
}  // namespace galvatron::deck

namespace galvatron::cost {

/// Where the ranks of a stage lie, as far as prices depend on it.
struct StagePlace {
  int64_t first_rank = 0;
  int64_t stride = 1;        ///< from one rank of the stage to the next
  int64_t tie_distance = 0;  ///< ranks to the other holder of a table that two stages share; 0 = none
  int64_t rank_of(int64_t member) const { return first_rank + member * stride; }
  auto operator<=>(const StagePlace&) const = default;
};

using TermSeconds = std::array<double, time_term_count>;

/// What the runtime plays beside compute: the deck's train.overlap_* keys.
struct Overlap {
  bool gradients = true, parameters = true, ring = true;
  bool checkpoints = false;  ///< written behind the steps, from copies in the memory that is priced
  bool saves = false;        ///< checkpoints are written at all, and need memory meanwhile
};
Overlap overlap_of(const deck::TrainSection& train, const deck::CheckpointSection& checkpoint);

/// Times are those of a layer between others of its kind: what it moves beside their compute counts only as
/// far as it takes longer than they do. The rest of it is in the phases that move.
struct LayerPrice {
  std::array<double, program::all_phases.size()> phase_seconds{};
  TermSeconds term_seconds{};
  double modelled_seconds = 0;  ///< of the above, not measured
  program::MemoryNeed memory;
  int64_t copy_bytes = 0;  ///< beside the arena: what checkpoints are written from, behind the steps
  int64_t pieces = 0;      ///< of the weights and moments that a rank saves, on average

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
  CostModel(const Profile& profile, const spec::ClusterSpec& cluster, const Overlap& overlap = {});

  LayerPrice price(const program::Program& program, const StagePlace& place);
  /// The collectives of a pair are those of this strategy's groups, wherever its digests come from.
  LayerPrice price(const DigestPair& pair, const spec::LayerStrategy& strategy, int64_t samples,
                   const StagePlace& place);
  /// Exchanges, which transitions alone have, are priced where the place says; all the rest holds anywhere.
  Digest digest(const program::Program& program, const StagePlace& place);
  const HardwarePrice& hardware() const { return hardware_; }
  /// What all ranks tell each other in every step: the loss and the norm, then requests.
  Seconds agreement() const;
  const spec::ClusterSpec& cluster() const { return cluster_; }
  int64_t reserve_bytes() const { return profile_.hardware.reserve_bytes; }
  const ReserveUnits& reserve_units() const { return profile_.hardware.reserve_units; }

 private:
  struct Played {
    double seconds = 0, modelled = 0;
  };
  /// Steps that only move, for the queue beside compute.
  struct Moved {
    std::vector<Talk> talks;
    double seconds = 0, modelled = 0;
    size_t term = 0;
  };
  /// One direction: seconds of its compute alone, and what moves beside it.
  struct Direction {
    double compute_seconds = 0;
    std::vector<Talk> talks;
  };
  /// What is priced, and how long its collectives take there.
  struct PricedAt {
    const DigestPair& pair;
    const spec::LayerStrategy& strategy;
    const StagePlace& place;
    std::vector<Seconds> of_compute, of_groups;
    Seconds duration(const DigestStep& step, const DigestPair::Played& phase) const;
  };
  Played play(const PricedAt& at, program::Phase phase, TermSeconds& terms);
  Moved move(const PricedAt& at, program::Phase phase);
  Talk talk_of(const PricedAt& at, const DigestStep& step, const DigestPair::Played& phase);
  double lateness(const PricedAt&, const DigestStep&, const DigestPair::Played&, double computed);
  Direction price_direction(const PricedAt& at, std::span<const program::Phase> phases, LayerPrice& price);
  void price_sync(const PricedAt& at, Direction backward, LayerPrice& price);
  std::vector<Seconds> durations(const Digest& digest, const spec::LayerStrategy& strategy,
                                 const StagePlace& place);
  DigestStep digest_step(const program::Program& program, const program::Step& step, program::Phase phase,
                         const StagePlace& place, Digest& digest);
  Seconds compute_seconds(const program::Program& program, const program::Step& step);
  Seconds price_of_compute(const program::Program& program, const program::Step& step) const;
  Seconds gemm_seconds(const program::Program& program, const program::Step& step) const;
  Seconds collective_seconds(const DigestCollective& collective, const spec::LayerStrategy& strategy,
                             const StagePlace& place);
  Seconds exchange_seconds(const program::Program& program, const program::Step& step,
                           const StagePlace& place) const;
  static spec::LayerStrategy joined(const spec::LayerStrategy& strategy, spec::AxisSet& axes);
  const std::vector<GroupShape>& shapes_of(const spec::LayerStrategy& strategy, spec::AxisSet axes,
                                           const StagePlace& place);

  const Profile& profile_;
  spec::ClusterSpec cluster_;
  Overlap overlap_;
  HardwarePrice hardware_;
  using ShapeKey = std::tuple<int32_t, int32_t, int32_t, int32_t, uint8_t, StagePlace>;
  std::map<ShapeKey, std::vector<GroupShape>> shapes_;
  std::unordered_map<std::string, Seconds> known_;  ///< by all that a step's duration depends on, as bytes
  std::string key_;                                 ///< of the step being looked up; kept for its storage
};

/// Prices each distinct (layer, context, place) once, from Programs that many of them share.
class LayerPricer {
 public:
  LayerPricer(const Profile& profile, const spec::ClusterSpec& cluster,
              const program::WorkspaceRule& workspace, const Overlap& overlap = {});

  /// For the stage's first rank, which has the most samples: the context's coordinate is the origin.
  const LayerPrice& price(const spec::LayerSpec& layer, const program::LayerContext& context,
                          StagePlace place);
  /// The memory alone, which is the same everywhere.
  program::MemoryNeed memory(const spec::LayerSpec& layer, const program::LayerContext& context);
  /// Of a transition between two layouts in a stage of as many ranks as they have.
  const TransitionPrice& price(const program::TransitionContext& context, StagePlace place);
  /// Of one rank in the middle: never more than the slowest takes, and found at once.
  double floor_seconds(program::TransitionContext context, StagePlace place);
  /// First ranks with equal results lie alike for a stage of so many ranks at this distance.
  int64_t canonical(int64_t first_rank, int64_t ranks, int64_t stride = 1) const;
  const CostModel& model() const { return model_; }
  int64_t lowered() const { return lowered_; }  ///< Programs made so far

 private:
  /// Layer and strategy, samples, types and place, as numbers.
  using Key = std::array<int64_t, 9>;
  struct KeyHash {
    size_t operator()(const Key& key) const noexcept;
  };
  using TransitionKey = std::tuple<spec::LayerStrategy, spec::LayerStrategy, int64_t, int64_t, int64_t,
                                   core::DType, StagePlace>;

  program::TransitionContext smallest(program::TransitionContext context, StagePlace place) const;
  struct KnownLayer {
    spec::LayerSpec spec;
    std::optional<bool> attends;  ///< found out at its first Program
  };
  size_t number_of(const spec::LayerSpec& layer);
  bool attends(const spec::LayerSpec& layer, const program::LayerContext& context);
  Key key_of(const spec::LayerSpec& layer, const program::LayerContext& context, const StagePlace& place);
  const Digest& digest(const spec::LayerSpec& layer, const program::LayerContext& context);
  DigestPair digests(const spec::LayerSpec& layer, const program::LayerContext& context);

  CostModel model_;
  const program::WorkspaceRule& workspace_;
  std::map<TransitionKey, TransitionPrice> transitions_;
  std::map<TransitionKey, double> floors_;
  std::vector<KnownLayer> layers_;  ///< by number
  std::unordered_map<Key, Digest, KeyHash> digests_;
  std::unordered_map<Key, LayerPrice, KeyHash> prices_;
  int64_t lowered_ = 0;
};

}  // namespace galvatron::cost
