// The scratch of a stage is the sum of three maxima. For every combination of caps on them the rest is a
// plain knapsack; combinations are tried in the order of a lower bound until it exceeds the best found.
#include "search/stage_optimum.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace galvatron::search {
namespace {

/// Largest work, gathered and unreduced bytes that a layer may use.
struct Caps {
  int64_t work = 0, gathered = 0, unreduced = 0;
  int64_t total() const { return work + gathered + unreduced; }
  bool allow(const Choice& choice) const {
    return choice.work <= work && choice.gathered <= gathered && choice.unreduced <= unreduced;
  }
};

/// What any solution under the caps must at least take.
struct Candidate {
  Caps caps;
  int64_t least_time = 0, least_bytes = 0;
};

std::vector<int64_t> distinct(const std::vector<LayerGroup>& groups, int64_t Choice::*field) {
  std::vector<int64_t> values;
  for (const LayerGroup& group : groups)
    if (group.count > 0)
      for (const Choice& choice : group.choices) values.push_back(choice.*field);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// Nothing when some group has no choice under the caps.
std::optional<Candidate> candidate_of(const std::vector<LayerGroup>& groups, const Caps& caps) {
  Candidate candidate{caps, 0, caps.total()};
  for (const LayerGroup& group : groups) {
    if (group.count == 0) continue;
    int64_t time = std::numeric_limits<int64_t>::max(), bytes = time;
    for (const Choice& choice : group.choices)
      if (caps.allow(choice)) {
        time = std::min(time, choice.time);
        bytes = std::min(bytes, choice.bytes);
      }
    if (time == std::numeric_limits<int64_t>::max()) return std::nullopt;
    candidate.least_time += group.count * time;
    candidate.least_bytes += group.count * bytes;
  }
  return candidate;
}

std::vector<Candidate> candidates_of(const std::vector<LayerGroup>& groups) {
  std::vector<Candidate> candidates;
  for (const int64_t work : distinct(groups, &Choice::work))
    for (const int64_t gathered : distinct(groups, &Choice::gathered))
      for (const int64_t unreduced : distinct(groups, &Choice::unreduced))
        if (const auto candidate = candidate_of(groups, {work, gathered, unreduced}))
          candidates.push_back(*candidate);
  return candidates;
}

std::vector<ItemGroup> items_under(const std::vector<LayerGroup>& groups, const Caps& caps) {
  std::vector<ItemGroup> items;
  for (const LayerGroup& group : groups) {
    items.push_back({group.count, {}});
    for (size_t i = 0; i < group.choices.size(); ++i)
      if (caps.allow(group.choices[i]))
        items.back().items.push_back(
            {group.choices[i].bytes, group.choices[i].time, static_cast<int64_t>(i)});
  }
  return items;
}

/// Bytes that the picks really take: their own maxima, which may be below the caps.
int64_t bytes_of(const std::vector<LayerGroup>& groups, const std::vector<std::vector<Pick>>& picks) {
  Caps most;
  int64_t bytes = 0;
  for (size_t g = 0; g < groups.size(); ++g)
    for (const Pick& pick : picks[g]) {
      const Choice& choice = groups[g].choices[static_cast<size_t>(pick.choice)];
      bytes += pick.count * choice.bytes;
      most = {std::max(most.work, choice.work), std::max(most.gathered, choice.gathered),
              std::max(most.unreduced, choice.unreduced)};
    }
  return bytes + most.total();
}

}  // namespace

bool covers(const Choice& a, const Choice& b) {
  return a.time <= b.time && a.bytes <= b.bytes && a.work <= b.work && a.gathered <= b.gathered &&
         a.unreduced <= b.unreduced;
}

std::optional<StageOptimum> solve_stage(const std::vector<LayerGroup>& groups, int64_t budget) {
  auto candidates = candidates_of(groups);
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.least_time, a.caps.total(), a.caps.work, a.caps.gathered) <
           std::tuple(b.least_time, b.caps.total(), b.caps.work, b.caps.gathered);
  });
  std::optional<StageOptimum> best;
  int64_t limit = std::numeric_limits<int64_t>::max();
  bool exact = true;
  for (const Candidate& candidate : candidates) {
    if (candidate.least_time >= limit) break;
    if (candidate.least_bytes > budget) continue;
    const auto packing = pack(items_under(groups, candidate.caps), budget - candidate.caps.total(), limit);
    if (!packing) continue;
    exact = exact && packing->exact;
    limit = packing->time;
    best = StageOptimum{packing->time, bytes_of(groups, packing->picks), packing->picks, true};
  }
  if (best) best->exact = exact;
  return best;
}

StageOptimum least_memory(const std::vector<LayerGroup>& groups) {
  const auto candidates = candidates_of(groups);
  const auto least = std::min_element(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return std::tie(a.least_bytes, a.least_time) < std::tie(b.least_bytes, b.least_time);
  });
  StageOptimum result;
  if (least == candidates.end()) return result;
  result.picks.resize(groups.size());
  const auto items = items_under(groups, least->caps);
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].count == 0) continue;
    const auto& list = items[g].items;
    const auto item = std::min_element(list.begin(), list.end(), [](const Item& a, const Item& b) {
      return std::tie(a.bytes, a.time) < std::tie(b.bytes, b.time);
    });
    result.picks[g] = {{item->choice, groups[g].count}};
    result.time += groups[g].count * item->time;
  }
  result.bytes = bytes_of(groups, result.picks);
  return result;
}

}  // namespace galvatron::search
