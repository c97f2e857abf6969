// How large the rings must be. The count is a bound: a few slots too many cost less than a missing step.

#include "runtime/trace.hpp"

#include <algorithm>

namespace galvatron::runtime {
namespace {

constexpr int64_t most_slices = int64_t{1} << 17;  // per thread, 48 bytes each

/// Collectives and waits of all phases of all layers.
int64_t messages_of(const plan::StageProgram& program) {
  int64_t count = 0;
  for (const auto& layer : program.layers)
    for (const auto& steps : layer.program->phases)
      count += std::count_if(steps.begin(), steps.end(), [](const program::Step& step) {
        return step.kind == program::StepKind::collective || step.kind == program::StepKind::wait;
      });
  return count;
}

int64_t slices_per_step(const plan::StageProgram& program) {
  // Per layer and micro-batch two phases and up to three waits around each; per action itself, data and
  // messages; per step norm, update and sync of each layer.
  const auto layers = static_cast<int64_t>(program.layers.size());
  const auto actions = static_cast<int64_t>(program.lane.size());
  return (actions / 2 + 1) * (messages_of(program) + 10 * layers) + 8 * actions + 32;
}

}  // namespace

Trace::Trace(const plan::StageProgram& program, int64_t steps)
    : Trace(std::min(most_slices, steps * slices_per_step(program))) {}

std::vector<TraceSlice> TraceLane::slices() const {
  const auto size = static_cast<int64_t>(ring_.size());
  std::vector<TraceSlice> kept;
  for (auto i = std::max<int64_t>(0, written_ - size); i < written_; ++i)
    kept.push_back(ring_[static_cast<size_t>(i % size)]);
  return kept;
}

}  // namespace galvatron::runtime
