// A pilot is a guess: the directions themselves leave out what does not fit.
#include "measure/link_sizes.hpp"

#include <algorithm>
#include <map>

#include "cost/curve.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {
namespace {

constexpr int64_t fewest_iterations = 8;  // a first look, a short warm-up and three samples, with some air
constexpr size_t most_pilots = 3;
constexpr int64_t enough_bytes = 256 * 1024;  // where bandwidth rules and latency does not
constexpr size_t coarsest = 5;                // of so many sizes one stays

/// The first, every `step`-th size after it, and the last.
std::vector<int64_t> every(size_t step, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < sizes.size(); i += step) out.push_back(sizes[i]);
  if (out.back() < sizes.back()) out.push_back(sizes.back());
  return out;
}

/// The first sizes that fit into the time, one at least.
std::vector<int64_t> within(const std::vector<int64_t>& sizes, const std::vector<PilotPoint>& look,
                            double seconds) {
  cost::Curve curve;
  for (const auto& point : look) {
    auto& added = curve.points.emplace_back();
    added.x = static_cast<double>(point.bytes);
    added.seconds = point.seconds;
  }
  const auto& last = curve.points.back();
  std::vector<int64_t> out;
  double spent = 0;
  for (const auto bytes : sizes) {
    const auto x = static_cast<double>(bytes);
    spent += fewest_iterations * (x <= last.x ? curve.at(x) : last.seconds * x / last.x);
    if (spent > seconds && !out.empty()) break;
    out.push_back(bytes);
  }
  return out;
}

}  // namespace

Round pilot_pairs(const std::vector<int>& node_of, PairKind kind) {
  const auto members = members_of(node_of);
  Round pairs;
  if (kind == PairKind::inside) {
    for (const auto& ranks : members)
      if (ranks.size() > 1 && pairs.size() < most_pilots) pairs.push_back({ranks[0], ranks[1]});
    return pairs;
  }
  int waiting = -1;
  for (const auto& ranks : members) {
    if (pairs.size() == most_pilots) break;
    if (waiting >= 0) pairs.push_back({waiting, ranks.front()});
    waiting = waiting >= 0 ? -1 : ranks.front();
  }
  return pairs;
}

std::vector<PilotPoint> joined_looks(const std::vector<std::vector<PilotPoint>>& looks) {
  std::map<int64_t, std::vector<double>> by_size;
  for (const auto& look : looks)
    for (const auto& point : look) by_size[point.bytes].push_back(point.seconds);
  std::vector<PilotPoint> joined;
  for (const auto& [bytes, seconds] : by_size)
    if (2 * seconds.size() >= looks.size()) joined.push_back({bytes, median_of(seconds)});
  return joined;
}

std::vector<int64_t> affordable_sizes(const std::vector<int64_t>& sizes, const std::vector<PilotPoint>& look,
                                      double seconds, int64_t least_bytes) {
  if (look.empty()) return sizes;
  const auto enough = std::min(enough_bytes, sizes.back());
  std::vector<int64_t> some, out;
  for (size_t step = 1; step <= coarsest; ++step) {
    some = every(step, sizes);
    out = within(some, look, seconds);
    if (out.back() >= enough) return out;
  }
  const auto least = *std::lower_bound(sizes.begin(), sizes.end(), std::min(least_bytes, sizes.back()));
  for (const auto bytes : some)
    if (bytes > out.back() && bytes < least) out.push_back(bytes);
  if (out.back() < least) out.push_back(least);
  return out;
}

}  // namespace galvatron::measure
