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
  std::array<double, 3> values = {hooks_.clock() - started_, hooks_.stop_requested() ? 1.0 : 0.0,
                                  hooks_.save_requested() ? 1.0 : 0.0};
  world_.all_reduce(std::span<double>(values), comm::ReduceOp::max);
  if (values[1] > 0) stopped_ = true;
  if (values[2] > 0) hooks_.save();
  tell_progress(values[0]);
  return values[0];
}

void Budget::tell_progress(double elapsed) {
  if (phase_.empty() || elapsed < told_ + hooks_.progress_seconds) return;
  told_ = elapsed;
  hooks_.progress(core::format("{}{}; at most {} left", phase_, noted_,
                               core::format_seconds(std::max(0.0, seconds_ - elapsed))));
}

void Budget::begin(std::string phase, double share) {
  phase_ = std::move(phase);
  noted_.clear();
  phase_started_ = elapsed();
  allotted_ = std::max(0.0, seconds_ - phase_started_) * std::clamp(share, 0.0, 1.0);
}

double Budget::left() {
  const double left = allotted_ - (elapsed() - phase_started_);
  return stopped_ ? std::min(left, 0.0) : left;
}

void Budget::note(int64_t done, int64_t wanted, const std::string& unit) {
  noted_ = core::format(": {} of {} {}", done, wanted, unit);
}

void Budget::end(int64_t done, int64_t wanted, std::string unit, int64_t kept) {
  coverage_.push_back({phase_, allotted_, elapsed() - phase_started_, done, wanted, std::move(unit), kept});
}

std::string coverage_line(const Coverage& c) {
  auto line = core::format("{} of {} {}", c.done, c.wanted, c.unit);
  if (c.kept > 0) line += core::format(", {} of them kept", c.kept);
  return line;
}

std::string coverage_text(const std::vector<Coverage>& coverage) {
  std::string out;
  for (const auto& c : coverage) {
    out += core::format("  {:<12} {:>9} of {:>9}   {}\n", c.phase, core::format_seconds(c.spent_seconds),
                        core::format_seconds(c.allotted_seconds), coverage_line(c));
  }
  return out;
}

}  // namespace galvatron::measure
