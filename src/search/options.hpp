#pragma once
// What a search may choose from and how much it keeps.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/dtype.hpp"
#include "cost/layer_price.hpp"
#include "plan/placement.hpp"
#include "plan/schedule.hpp"
#include "spec/axes.hpp"
#include "spec/strategy.hpp"

namespace galvatron::deck {
struct SearchSection;
}

namespace galvatron::search {

/// off: every task is solved, also where its bound says that it cannot win. For measurements alone.
enum class Bounds : uint8_t { on, off };

struct SearchOptions {
  /// Samples per step; the best samples per second wins. None: as many as pay.
  std::vector<int64_t> batches = {16};
  std::vector<plan::ScheduleKind> schedules = {plan::ScheduleKind::one_f_one_b, plan::ScheduleKind::gpipe};
  std::vector<plan::Placement> placements = {plan::all_placements.begin(), plan::all_placements.end()};
  std::vector<spec::Axis> axes = {spec::Axis::tp, spec::Axis::sp, spec::Axis::cp, spec::Axis::dp};
  int64_t max_tp = 0;  ///< 0 = any
  int64_t max_sp = 0;
  int64_t max_cp = 0;
  int64_t max_pp = 0;
  bool in_node = false;  ///< the ranks of tp · sp stay on one node
  std::vector<int32_t> zero = {0, 1, 2, 3};
  std::vector<spec::Recompute> recompute = {spec::Recompute::none, spec::Recompute::full};
  core::DType dtype = core::DType::f32;
  cost::Overlap overlap;  ///< what the runtime plays beside compute
  int64_t keep = 5;       ///< best plans to report
  Bounds bounds = Bounds::on;

  bool offers(spec::Axis axis) const { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }
  bool offers(plan::ScheduleKind schedule) const {
    return std::find(schedules.begin(), schedules.end(), schedule) != schedules.end();
  }
};

SearchOptions options_from_deck(const deck::SearchSection& section, core::DType dtype,
                                const cost::Overlap& overlap = {});

}  // namespace galvatron::search
