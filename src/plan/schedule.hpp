#pragma once
// When each pipeline rank does what. A schedule is a pure function (ranks, micro-batches, chunks) → lanes;
// runtime walks a lane, cost simulates all of them, a checker proves before launch that every message meets
// its receive.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace galvatron::plan {

enum class ScheduleKind : uint8_t { one_f_one_b, gpipe, eager_one_f_one_b, interleaved };

/// Names in decks and plans: "1f1b", "gpipe", "eager-1f1b", "interleaved".
std::string_view name_of(ScheduleKind kind);
/// Throws core::UserError with the legal names.
ScheduleKind schedule_named(std::string_view name);

/// `ranks` in a row, each with `chunks` stages of the model (virtual stages): stage k is chunk k / ranks of
/// rank k mod ranks.
struct PipelineShape {
  int64_t ranks = 1;
  int64_t micros = 1;
  int64_t chunks = 1;

  int64_t stages() const { return ranks * chunks; }
};

enum class ActionKind : uint8_t { forward, backward };

/// One entry of a lane. `chunk` numbers the stages of a rank (0 without interleaving).
struct Action {
  ActionKind kind = ActionKind::forward;
  int32_t micro = 0;
  int32_t chunk = 0;
  bool operator==(const Action&) const = default;
};

/// What one pipeline rank does in one step, in order.
using Lane = std::vector<Action>;

/// Why the schedule cannot be played in this shape, or nothing. m < P is a bubble, not an error, except where
/// the schedule says so.
std::optional<std::string> illegal_reason(ScheduleKind kind, const PipelineShape& shape);

/// One lane per pipeline rank. The shape must be legal.
std::vector<Lane> make_schedule(ScheduleKind kind, const PipelineShape& shape);

/// Forwards alone, the same lane on every rank: `ranks` micro-batches through one chunk, then through the
/// next.
Lane evaluation_lane(const PipelineShape& shape);

/// The most micro-batches of a chunk whose forward has begun and whose backward has not ended, counted by
/// walking the lane.
int64_t in_flight(const Lane& lane, int32_t chunk = 0);
/// Likewise of a rank's lane, by the schedule's rule where it has one: lanes are long.
int64_t in_flight(ScheduleKind kind, const PipelineShape& shape, int64_t rank, int32_t chunk = 0);

/// Messages have a channel for each stage and direction: 2k carries activations into stage k, 2k + 1
/// gradients into it. −1 where the action receives or sends nothing.
struct Route {
  int64_t from = -1, to = -1;
};
Route route_of(const Action& action, int64_t rank, const PipelineShape& shape);

/// Why the lanes would hang, or nothing. Assumes synchronous, in-order sends per channel.
std::optional<std::string> find_hang(const std::vector<Lane>& lanes, int64_t chunks = 1);

/// Likewise, and why they would lose work: every micro-batch must run forward once and then backward once in
/// every chunk of every rank.
std::optional<std::string> find_fault(const std::vector<Lane>& lanes, int64_t chunks = 1);

}  // namespace galvatron::plan
