// Why a plan lost: how much slower per sample, and the term that costs most of it.
#include <algorithm>
#include <map>

#include "core/format.hpp"
#include "core/units.hpp"
#include "search/tasks.hpp"

namespace galvatron::search {
namespace {

/// Seconds per sample by term, summed over stages, waiting included.
std::map<std::string, double> terms_per_sample(const Candidate& candidate) {
  std::map<std::string, double> terms;
  const auto batch = static_cast<double>(candidate.plan.batch);
  for (const auto& stage : candidate.plan.predictions) {
    double busy = 0;
    for (const auto& term : stage.time_terms) {
      terms[term.name] += term.amount / batch;
      busy += term.amount;
    }
    terms["pipeline wait"] += (candidate.plan.predicted_step_seconds - busy) / batch;
  }
  // Ranks, not stages, are what plans have in common.
  for (auto& [name, seconds] : terms) seconds /= static_cast<double>(candidate.plan.pipeline_ranks());
  return terms;
}

}  // namespace

std::string loss_of(const Candidate& other, const Candidate& best) {
  const double slower = samples_per_second(best) / samples_per_second(other) - 1;
  auto mine = terms_per_sample(other), theirs = terms_per_sample(best);
  for (const auto& [name, seconds] : theirs) mine.try_emplace(name, 0);
  std::string worst;
  double most = 0;
  for (const auto& [name, seconds] : mine) {
    const double more = seconds - theirs[name];
    if (more <= most) continue;
    most = more;
    worst = name;
  }
  if (worst.empty()) return core::format("{:.1f} % slower", 100 * slower);
  return core::format("{:.1f} % slower, most of it {} (+{} a sample)", 100 * slower, worst,
                      core::format_seconds(most));
}

}  // namespace galvatron::search
