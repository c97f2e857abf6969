// What is played, for how long, and in which order. Every decision rides on a reduction, so all ranks play
// the same slots.
#include "measure/links.hpp"

#include <algorithm>
#include <set>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "measure/gather.hpp"
#include "measure/group_sets.hpp"
#include "measure/link_results.hpp"
#include "measure/link_sizes.hpp"
#include "measure/sampler.hpp"
#include "measure/verdicts.hpp"

namespace galvatron::measure {
namespace {

constexpr double pilot_share = 0.05;    // of the phase, for one message of the largest size of the first look
constexpr int64_t pilot_factor = 8;     // between the sizes of the first look
constexpr double isolated_share = 0.5;  // of what is left after it
constexpr double again_share = 0.3;     // of what is left after that, for a second visit of slow links
// Directions are short where there are many of them; less time than this measures nothing.
constexpr double shortest_direction = 0.005;

/// The slots that stay within `most` pairs, at least one.
void cut(std::vector<Round>& slots, int64_t most) {
  int64_t pairs = 0;
  size_t keep = 0;
  while (keep < slots.size() && (keep == 0 || pairs + static_cast<int64_t>(slots[keep].size()) <= most))
    pairs += static_cast<int64_t>(slots[keep++].size());
  slots.resize(keep);
}

class Survey {
 public:
  Survey(comm::World& world, std::span<const LinkPath> paths, const LinkOptions& options, Budget& budget)
      : world_(world),
        paths_(paths),
        options_(options),
        budget_(budget),
        node_of_(nodes_of_ranks(world)),
        sizes_(options.sizes.empty() ? geometric_sizes(8, 64 * core::mib, 2) : options.sizes),
        bench_(world, paths, options.iterations, sizes_.back()) {
    GALV_ASSERT(sizes_.front() >= 8, sizes_.front());
    GALV_ASSERT(!paths.empty());
  }

  LinkMap run() {
    isolated_ = slots_by_worth(node_of_, options_.seed);
    loaded_ = tournament(world_.size());
    count(isolated_, isolated_.size(), coverage().inside, coverage().leaders, coverage().rest);
    coverage().rounds = static_cast<int64_t>(loaded_.size());
    coverage().wanted_bytes = sizes_.back();
    cut(isolated_, options_.most_links / 2);
    const double left = budget_.left();
    if (budget_.stopped() || budget_.total_seconds() <= 0) return std::move(map_);
    // On a loaded machine the time may be over before it began.
    const double total = std::max(left, shortest_direction);
    look(total);
    const double keep = (1.0 - isolated_share) * std::max(budget_.left(), 0.0);
    const auto played = play(isolated_, Pass::isolated, keep);
    look_again(keep);
    count(isolated_, static_cast<size_t>(played), coverage().inside_done, coverage().leaders_done,
          coverage().rest_done);
    choose_rounds();
    coverage().rounds_done = play(loaded_, Pass::loaded, 0);
    collect();
    return std::move(map_);
  }

 private:
  cost::LinkCoverage& coverage() { return map_.coverage; }

  void count(const std::vector<Round>& slots, size_t first_slots, int64_t& inside, int64_t& leaders,
             int64_t& rest) const {
    for (size_t i = 0; i < first_slots; ++i)
      for (const auto& pair : slots[i]) {
        const auto kind = kind_of(pair, node_of_);
        ++(kind == PairKind::inside ? inside : kind == PairKind::leaders ? leaders : rest);
      }
  }

  /// What a direction of each tier may take decides how large its messages get.
  void look(double total) {
    const double seconds =
        std::max(isolated_share * total / directions(isolated_.size()), shortest_direction);
    const auto least = options_.iterations.large_bytes;
    tiers_.same_node = affordable_sizes(sizes_, looked(PairKind::inside, total), seconds, least);
    tiers_.across = affordable_sizes(sizes_, looked(PairKind::leaders, total), seconds, least);
    if (coverage().inside > 0) coverage().same_node_bytes = tiers_.same_node.back();
    if (coverage().leaders + coverage().rest > 0) coverage().across_bytes = tiers_.across.back();
  }

  std::vector<PilotPoint> looked(PairKind kind, double total) {
    const auto pairs = pilot_pairs(node_of_, kind);
    if (pairs.empty()) return {};
    const auto few = geometric_sizes(sizes_.front(), sizes_.back(), pilot_factor);
    std::vector<double> mine;
    for (const auto& point : bench_.look(pairs, few, pilot_share * total / pilot_factor))
      mine.insert(mine.end(), {static_cast<double>(point.bytes), point.seconds});
    std::vector<std::vector<PilotPoint>> looks;
    for (const auto& numbers : gather_numbers(world_, mine)) {
      if (numbers.empty()) continue;
      auto& points = looks.emplace_back();
      for (size_t i = 0; i + 1 < numbers.size(); i += 2)
        points.push_back({static_cast<int64_t>(numbers[i]), numbers[i + 1]});
    }
    return joined_looks(looks);
  }

  /// Both ways on every path in each of `slots`.
  double directions(size_t slots) const {
    return 2.0 * static_cast<double>(std::max<size_t>(slots, 1) * paths_.size());
  }

  /// Where not all rounds fit, those that do are to be a fair sample.
  void choose_rounds() {
    const double left = std::max(budget_.left(), 0.0);
    const auto fit = static_cast<int64_t>(left / (directions(1) * shortest_direction));
    const auto most = options_.most_links / std::max(world_.size(), 1);
    const auto count = static_cast<int64_t>(loaded_.size());
    if (count > std::min(fit, most)) shuffle(loaded_, options_.seed);
    if (count > most) loaded_.resize(static_cast<size_t>(std::max<int64_t>(most, 1)));
  }

  /// Plays slots until all are played or only `keep` seconds of the phase are left; returns how many.
  int64_t play(const std::vector<Round>& slots, Pass pass, double keep, int visit = 0) {
    // However short the time, there is a slot of each tier: without one nothing could be priced.
    const size_t least = pass == Pass::isolated && visit == 0 ? 2 : 0;
    size_t played = 0;
    for (; played < slots.size(); ++played) {
      const double left = budget_.left() - keep;
      if (left <= 0 && (played >= least || budget_.stopped())) break;
      const double fair = std::max(left / directions(slots.size() - played), shortest_direction);
      for (size_t path = 0; path < paths_.size(); ++path)
        bench_.play(slots[played], static_cast<int>(path), pass, tiers_, fair, visit);
    }
    return static_cast<int64_t>(played);
  }

  /// Links that look slow are played once more, at another time: they may only have been unlucky. Of the
  /// `keep` seconds for the loaded pass this takes a part.
  void look_again(double keep) {
    cost::HardwareProfile profile;
    describe_nodes(world_, profile);
    profile.links = links();
    std::set<Pair> pairs;
    for (const auto i : slow_links(profile)) {
      const auto& link = profile.links[i];
      pairs.insert({std::min(link.from, link.to), std::max(link.from, link.to)});
    }
    const auto slots = slots_of({pairs.begin(), pairs.end()}, node_of_);
    play(slots, Pass::isolated, (1.0 - again_share) * keep, 1);
  }

  std::vector<cost::Link> links() {
    std::vector<std::string> names;
    for (const auto& path : paths_) names.push_back(path.name);
    return links_of_all(world_, bench_.mine(), names);
  }

  void collect() {
    map_.links = links();
    map_.raw = raw_of_all(world_, bench_.mine(), paths_);
  }

  comm::World& world_;
  std::span<const LinkPath> paths_;
  const LinkOptions& options_;
  Budget& budget_;
  std::vector<int> node_of_;
  std::vector<int64_t> sizes_;
  LinkBench bench_;
  TierSizes tiers_;
  std::vector<Round> isolated_, loaded_;
  LinkMap map_;
};

}  // namespace

LinkMap measure_links(comm::World& world, std::span<const LinkPath> paths, const LinkOptions& options,
                      Budget& budget) {
  LinkMap map;
  if (world.size() > 1) map = Survey(world, paths, options, budget).run();
  map.coverage.timer_resolution = world.all_gather(timer_resolution()).front();
  return map;
}

}  // namespace galvatron::measure
