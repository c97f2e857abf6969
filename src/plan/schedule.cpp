// The schedules by name, what their lanes have in common, and the routes of their messages.
#include "plan/schedule.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "plan/schedules/lanes.hpp"

namespace galvatron::plan {
namespace {

const ScheduleRow& row_of(ScheduleKind kind) {
  const auto& rows = schedule_table();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const ScheduleRow& r) { return r.kind == kind; });
  GALV_ASSERT(row != rows.end(), kind);
  return *row;
}

}  // namespace

std::string_view name_of(ScheduleKind kind) {
  return row_of(kind).name;
}

ScheduleKind schedule_named(std::string_view name) {
  std::vector<std::string> names;
  for (const ScheduleRow& row : schedule_table()) {
    if (row.name == name) return row.kind;
    names.push_back(core::format("'{}'", row.name));
  }
  throw core::UserError(core::format("unknown schedule '{}'; there are {}", name, core::join(names, ", ")));
}

std::optional<std::string> illegal_reason(ScheduleKind kind, const PipelineShape& shape) {
  const ScheduleRow& row = row_of(kind);
  if (shape.chunks > 1 && row.interleaves == Interleaves::no)
    return core::format("schedule '{}' plays one stage per rank, not {} virtual stages; 'interleaved' does",
                        row.name, shape.chunks);
  if (shape.chunks > 1 && shape.ranks == 1)
    return core::format("{} virtual stages need a pipeline of at least 2 ranks", shape.chunks);
  if (row.interleaves == Interleaves::yes && shape.micros % shape.ranks != 0)
    return core::format("schedule '{}' needs a number of micro-batches that {} pipeline ranks divide, not {}",
                        row.name, shape.ranks, shape.micros);
  return std::nullopt;
}

std::vector<Lane> make_schedule(ScheduleKind kind, const PipelineShape& shape) {
  GALV_ASSERT(shape.ranks >= 1 && shape.micros >= 1 && shape.chunks >= 1, shape.ranks, shape.micros,
              shape.chunks);
  const auto reason = illegal_reason(kind, shape);
  GALV_ASSERT(!reason, reason.value_or(""));
  std::vector<Lane> lanes;
  for (int64_t rank = 0; rank < shape.ranks; ++rank) lanes.push_back(row_of(kind).lane(rank, shape));
  return lanes;
}

Lane evaluation_lane(const PipelineShape& shape) {
  Lane lane;
  lane.reserve(static_cast<size_t>(shape.micros * shape.chunks));
  for (int64_t first = 0; first < shape.micros; first += shape.ranks)
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      for (auto micro = first; micro < std::min(first + shape.ranks, shape.micros); ++micro)
        lane.push_back({ActionKind::forward, static_cast<int32_t>(micro), static_cast<int32_t>(chunk)});
  return lane;
}

int64_t in_flight(const Lane& lane, int32_t chunk) {
  int64_t now = 0, most = 0;
  for (const Action& action : lane) {
    if (action.chunk != chunk) continue;
    now += action.kind == ActionKind::forward ? 1 : -1;
    most = std::max(most, now);
  }
  return most;
}

int64_t in_flight(ScheduleKind kind, const PipelineShape& shape, int64_t rank, int32_t chunk) {
  const int64_t after = shape.ranks - 1 - rank;
  switch (kind) {
    case ScheduleKind::one_f_one_b:
      return std::min(after + 1, shape.micros);
    case ScheduleKind::eager_one_f_one_b:
      return std::min(2 * after + 1, shape.micros);
    case ScheduleKind::gpipe:
      return shape.micros;
    case ScheduleKind::interleaved:
      break;
  }
  return in_flight(row_of(kind).lane(rank, shape), chunk);
}

Route route_of(const Action& action, int64_t rank, const PipelineShape& shape) {
  const auto stage = action.chunk * shape.ranks + rank;
  const bool first = stage == 0, last = stage + 1 == shape.stages();
  if (action.kind == ActionKind::forward) return {first ? -1 : 2 * stage, last ? -1 : 2 * (stage + 1)};
  return {last ? -1 : 2 * stage + 1, first ? -1 : 2 * (stage - 1) + 1};
}

}  // namespace galvatron::plan
