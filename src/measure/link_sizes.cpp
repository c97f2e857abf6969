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

}  // namespace

Round pilot_pairs(const std::vector<int>& node_of, PairKind kind) {
  std::map<int, std::vector<int>> members;
  for (size_t rank = 0; rank < node_of.size(); ++rank)
    members[node_of[rank]].push_back(static_cast<int>(rank));
  Round pairs;
  if (kind == PairKind::inside) {
    for (const auto& [node, ranks] : members)
      if (ranks.size() > 1 && pairs.size() < most_pilots) pairs.push_back({ranks[0], ranks[1]});
    return pairs;
  }
  int waiting = -1;
  for (const auto& [node, ranks] : members) {
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
                                      double seconds) {
  if (look.empty()) return sizes;
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
    const double once = x <= last.x ? curve.at(x) : last.seconds * x / last.x;
    spent += fewest_iterations * once;
    if (spent > seconds && out.size() >= 2) break;
    out.push_back(bytes);
  }
  return out;
}

}  // namespace galvatron::measure
