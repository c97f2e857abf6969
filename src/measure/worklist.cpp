// Greedy set cover, twice: first for the ends of every curve, then for the points between, so that a short
// budget costs detail and not whole curves.
#include "measure/worklist.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "cost/profile.hpp"

namespace galvatron::measure {
namespace {

using Points = std::set<StepPoint>;

/// Rows of each key that are worth a measurement; `ends` are the outermost of them.
struct Wanted {
  Points all, ends;
};

Wanted thin_out(const Points& every, double grid) {
  std::map<std::string, std::vector<double>> rows;
  for (const auto& point : every) rows[point.key].push_back(point.rows);
  Wanted wanted;
  for (const auto& [key, values] : rows) {
    wanted.ends.insert({key, values.front()});
    wanted.ends.insert({key, values.back()});
    double last = values.front();
    for (const double value : values) {
      if (value < last * grid || value * grid > values.back()) continue;
      wanted.all.insert({key, value});
      last = value;
    }
  }
  wanted.all.insert(wanted.ends.begin(), wanted.ends.end());
  return wanted;
}

/// Candidates, best first, until every point of `missing` is met; takes them out of `missing`.
std::vector<size_t> cover(const std::vector<std::vector<StepPoint>>& offers, Points& missing) {
  std::vector<size_t> chosen;
  const auto gain = [&](size_t i) {
    return std::count_if(offers[i].begin(), offers[i].end(),
                         [&](const auto& p) { return missing.contains(p); });
  };
  while (!missing.empty()) {
    size_t best = 0;
    int64_t most = 0;
    for (size_t i = 0; i < offers.size(); ++i) {
      if (const int64_t here = gain(i); here > most) {
        most = here;
        best = i;
      }
    }
    for (const auto& point : offers[best]) missing.erase(point);
    chosen.push_back(best);
  }
  return chosen;
}

}  // namespace

std::vector<StepPoint> points_of(const program::Program& program) {
  Points points;
  for (const auto phase : program::all_phases) {
    for (const auto& step : program.steps(phase)) {
      const auto signature = cost::signature_of(program, step);
      if (!signature.key.empty()) points.insert({signature.key, signature.rows});
    }
  }
  return {points.begin(), points.end()};
}

Worklist make_worklist(const std::vector<LayerCase>& candidates, const program::WorkspaceRule& workspace,
                       double grid, const Known& known) {
  std::vector<std::vector<StepPoint>> offers;
  Points every;
  for (const auto& candidate : candidates) {
    offers.push_back(points_of(program::lower(candidate.layer, candidate.context, workspace)));
    every.insert(offers.back().begin(), offers.back().end());
  }
  auto wanted = thin_out(every, grid);
  Worklist list;
  list.points.assign(wanted.all.begin(), wanted.all.end());
  std::erase_if(wanted.ends, known);
  list.known = static_cast<int64_t>(std::erase_if(wanted.all, known));

  auto chosen = cover(offers, wanted.ends);
  list.first_cases_ends = static_cast<int64_t>(chosen.size());
  for (const auto i : chosen)
    for (const auto& point : offers[i]) wanted.all.erase(point);
  for (const auto i : cover(offers, wanted.all)) chosen.push_back(i);
  for (const auto i : chosen) {
    list.cases.push_back(candidates[i]);
    list.offers.push_back(std::move(offers[i]));
  }
  return list;
}

}  // namespace galvatron::measure
