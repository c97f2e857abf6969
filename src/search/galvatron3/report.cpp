// What the rules of Galvatron 3.0 found, in its own names.
#include <algorithm>
#include <cmath>

#include "core/format.hpp"
#include "core/table.hpp"
#include "search/galvatron3/request.hpp"

namespace galvatron::search::galvatron3 {
namespace {

/// "8 × 4-1-2-c, 4 × 4-2*-1".
std::string runs_text(const std::vector<Strategy>& layers) {
  std::vector<std::string> runs;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i;
    while (end < layers.size() && layers[end] == layers[i]) ++end;
    runs.push_back(core::format("{} × {}{}", end - i, to_string(layers[i]),
                                layers[i].cp > 1 ? core::format(" cp{}", layers[i].cp) : ""));
    i = end;
  }
  return core::join(runs, ", ");
}

std::string miss_text(const std::optional<Miss>& miss) {
  if (!miss)
    return "nothing fits: no strategy is left to try; see galvatron.chunks, search.batch and the limits\n";
  return core::format(
      "nothing fits: the nearest miss is {} MB short on stage {}: batch {}, {} micro-batches, {} stages, "
      "layers {}, "
      "vocabulary {}\n",
      static_cast<int64_t>(std::max(1.0, std::ceil(miss->short_mb))), miss->stage, miss->step.batch,
      miss->step.chunks, miss->stages, to_string(miss->layer), to_string(miss->vocab));
}

}  // namespace

std::string report(const Outcome& outcome, const Request& request) {
  const auto& s = outcome.statistics;
  const auto budget = cost::galvatron3::budget_of(request.search.memory_mb);
  std::string out = core::format(
      "rules of Galvatron 3.0: {} MB a rank of which {} are held back, {} tasks, {} candidates, {} opened\n",
      request.search.memory_mb, budget.reserved_mb, s.tasks, s.candidates, s.opened);
  if (s.paths.not_proven > 0)
    out += core::format("{} stages are only good, not proven\n", s.paths.not_proven);
  if (!outcome.best) return out + miss_text(outcome.miss);
  const auto& best = *outcome.best;
  out += core::format(
      "{:.6g} samples/s, {:.6g} s a step by its formula: batch {}, {} micro-batches, {} stages, {}, found by "
      "{} "
      "objective\n",
      best.throughput(), best.seconds, best.step.batch, best.step.chunks, best.stages, name_of(best.mode),
      best.objective == Objective::own ? "our" : "its");
  std::vector<core::Row> rows = {{"stage", "layers", "MB left"}};
  for (size_t i = 0; i < best.layers.size(); ++i)
    rows.push_back({core::format("{}", i), runs_text(best.layers[i]), core::format("{}", best.left_mb[i])});
  rows.push_back({"vocab", to_string(best.vocab)});
  return out + core::table(rows, {1});
}

}  // namespace galvatron::search::galvatron3
