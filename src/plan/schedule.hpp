#pragma once
// When each stage does what. A schedule is a pure function (stages, micro-batches) → lanes; runtime walks a
// lane, cost simulates all of them, a checker proves before launch that every message meets its receive.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace galvatron::plan {

enum class ScheduleKind : uint8_t { one_f_one_b, gpipe };

/// Names in decks and plans: "1f1b", "gpipe".
std::string_view name_of(ScheduleKind kind);
/// Throws core::UserError with the legal names.
ScheduleKind schedule_named(std::string_view name);

enum class ActionKind : uint8_t { forward, backward };

/// One entry of a lane. `chunk` numbers the virtual stages of a rank (0 without interleaving).
struct Action {
  ActionKind kind = ActionKind::forward;
  int32_t micro = 0;
  int32_t chunk = 0;
  bool operator==(const Action&) const = default;
};

/// What one stage does in one step, in order.
using Lane = std::vector<Action>;

/// One lane per stage. Any stages ≥ 1 and micros ≥ 1 (m < P is a bubble, not an error).
std::vector<Lane> make_schedule(ScheduleKind kind, int64_t stages, int64_t micros);

/// The most micro-batches whose forward has begun and whose backward has not ended, counted by walking the
/// lane.
int64_t in_flight(const Lane& lane);

/// Why the lanes would hang or lose work, or nothing. Assumes synchronous, in-order sends between neighbours.
/// Also checks that every micro-batch runs forward once and then backward once on every stage.
std::optional<std::string> find_fault(const std::vector<Lane>& lanes);

}  // namespace galvatron::plan
