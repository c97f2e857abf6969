// The one place in this room that looks at the wall clock to decide something.
#include "measure/budget.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "core/format.hpp"
#include "core/units.hpp"

namespace galvatron::measure {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double timer_resolution() {
  using Clock = std::chrono::steady_clock;
  auto smallest = Clock::duration::max();
  for (int i = 0; i < 1000; ++i) {
    const auto begin = Clock::now();
    auto end = Clock::now();
    while (end == begin) end = Clock::now();
    smallest = std::min(smallest, end - begin);
  }
  return std::chrono::duration<double>(smallest).count();
}

Budget::Budget(comm::World& world, double seconds, BudgetHooks hooks)
    : world_(world), seconds_(seconds), hooks_(std::move(hooks)) {
  started_ = hooks_.clock();
}

double Budget::elapsed() {
  hooks_.alive(phase_);
  std::array<double, 2> values = {hooks_.clock() - started_, hooks_.stop_requested() ? 1.0 : 0.0};
  world_.all_reduce(std::span<double>(values), comm::ReduceOp::max);
  if (values[1] > 0) stopped_ = true;
  return values[0];
}

void Budget::begin(std::string phase, double share) {
  phase_ = std::move(phase);
  phase_started_ = elapsed();
  allotted_ = std::max(0.0, seconds_ - phase_started_) * std::clamp(share, 0.0, 1.0);
}

double Budget::left() {
  const double left = allotted_ - (elapsed() - phase_started_);
  return stopped_ ? std::min(left, 0.0) : left;
}

void Budget::end(int64_t done, int64_t wanted, std::string unit) {
  coverage_.push_back({phase_, allotted_, elapsed() - phase_started_, done, wanted, std::move(unit)});
}

std::string coverage_text(const std::vector<Coverage>& coverage) {
  std::string out;
  for (const auto& c : coverage) {
    out += core::format("  {:<12} {:>9} of {:>9}   {} of {} {}\n", c.phase,
                        core::format_seconds(c.spent_seconds), core::format_seconds(c.allotted_seconds),
                        c.done, c.wanted, c.unit);
  }
  return out;
}

}  // namespace galvatron::measure
