// A rank never throws while others wait for its messages: what goes wrong is noted and agreed on at the end
// of each slot.
#include "measure/links.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "core/units.hpp"
#include "measure/gather.hpp"
#include "measure/ping.hpp"
#include "measure/tournament.hpp"

namespace galvatron::measure {
namespace {

enum class Pass { isolated, loaded };

using Key = std::pair<int, int>;  // from, to

std::vector<int> nodes_of_ranks(const comm::World& world) {
  std::vector<int> out;
  for (int r = 0; r < world.size(); ++r) out.push_back(world.node_of(r));
  return out;
}

/// Who tells an idle `rank` that the slot is over: a player on its own node, else the first one; −1 = the
/// rank plays itself.
int waker_of(const Round& slot, int rank, const std::vector<int>& node_of) {
  int waker = slot.front().low;
  bool own_node = false;
  for (const auto& pair : slot) {
    for (const int player : {pair.low, pair.high}) {
      if (player == rank) return -1;
      if (own_node || node_of[static_cast<size_t>(player)] != node_of[static_cast<size_t>(rank)]) continue;
      waker = player;
      own_node = true;
    }
  }
  return waker;
}

/// Plays pairs and keeps what this rank measured as a sender.
class LinkBench {
 public:
  LinkBench(comm::World& world, comm::Communicator& all, device::Device& device, const LinkOptions& options)
      : world_(world),
        options_(options),
        node_of_(nodes_of_ranks(world)),
        ping_(all, device, options.sizes.back()) {}

  /// All pairs of the slot at once, low → high and then high → low. Collective over the world.
  void play(const Round& slot, Pass pass, double seconds_per_point) {
    wrong_.reset();
    for (const auto& pair : slot) {
      if (pair.low != world_.rank() && pair.high != world_.rank()) continue;
      direction(pair.low, pair.high, pass, seconds_per_point);
      direction(pair.high, pair.low, pass, seconds_per_point);
    }
    let_the_idle_sleep(slot);
    world_.agree("measure links", [&] {
      if (!wrong_) return;
      const auto& m = *wrong_->wrong;
      throw LinkError(m, wrong_->wrong_byte, world_.host_of(world_.node_of(m.from)),
                      world_.host_of(world_.node_of(m.to)));
    });
  }

  std::map<Key, std::vector<LinkPoint>>& results(Pass pass) {
    return pass == Pass::isolated ? isolated_ : loaded_;
  }

 private:
  void let_the_idle_sleep(const Round& slot) {
    if (const int waker = waker_of(slot, world_.rank(), node_of_); waker >= 0) return ping_.doze(waker);
    for (int rank = 0; rank < world_.size(); ++rank)
      if (waker_of(slot, rank, node_of_) == world_.rank()) ping_.wake(rank);
  }

  void direction(int from, int to, Pass pass, double seconds) {
    const auto check = pass == Pass::isolated ? Check::each : Check::last;
    double token = 0;  // one way of 8 bytes
    for (const auto bytes : options_.sizes) {
      if (world_.rank() == to) {
        auto result = ping_.receive(from, bytes, check);
        if (result.wrong && !wrong_) wrong_ = std::move(result);
        continue;
      }
      SampleRule rule;
      rule.target = bytes < options_.large_bytes ? options_.small_iterations : options_.large_iterations;
      rule.seconds = seconds;
      auto samples = ping_.send(to, bytes, check, rule).round_trips;
      if (bytes == options_.sizes.front()) token = 0.5 * median_of(samples);
      // The way back carries 8 bytes; the way there is never the shorter half.
      for (auto& s : samples) s = std::max({s - token, 0.5 * s, 1e-9});
      results(pass)[{from, to}].push_back({bytes, summarise(samples)});
    }
  }

  comm::World& world_;
  const LinkOptions& options_;
  std::vector<int> node_of_;
  PingBench ping_;
  std::map<Key, std::vector<LinkPoint>> isolated_, loaded_;
  std::optional<PingResult> wrong_;
};

/// In an order that depends on the seed alone.
template <class T>
void shuffle(std::vector<T>& items, uint64_t seed) {
  const auto key = core::key_of(seed, "order of link slots");
  for (size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[static_cast<size_t>(core::uniform_below(key, i, static_cast<int64_t>(i)))]);
}

/// Plays slots until all are played or only `keep` seconds of the phase are left; returns how many.
int64_t play_slots(LinkBench& bench, std::vector<Round>& slots, Pass pass, const LinkOptions& options,
                   Budget& budget, double keep) {
  constexpr double shortest_point = 0.0005;  // seconds; less would not even warm up
  const double points = 2.0 * static_cast<double>(options.sizes.size());
  const auto count = static_cast<int64_t>(slots.size());
  int64_t played = 0;
  for (; played < count; ++played) {
    const double left = budget.left() - keep;
    if (left <= 0) break;
    const double fair = left / (static_cast<double>(count - played) * points);
    // What fits of a large machine is to be a fair sample of it.
    if (played == 0 && fair < shortest_point) shuffle(slots, options.seed);
    bench.play(slots[static_cast<size_t>(played)], pass,
               std::clamp(fair, shortest_point, options.seconds_per_point));
  }
  return played;
}

constexpr size_t numbers_per_point = 7;

std::vector<double> packed(const std::map<Key, std::vector<LinkPoint>>& results) {
  std::vector<double> out;
  for (const auto& [key, points] : results) {
    out.insert(out.end(), {double(key.first), double(key.second), double(points.size())});
    for (const auto& p : points) {
      const auto& s = p.seconds;
      out.insert(out.end(), {double(p.bytes), s.minimum, s.median, s.p95, s.p99, s.coefficient_of_variation,
                             double(s.samples)});
    }
  }
  return out;
}

/// The links of all ranks, on every rank.
std::map<Key, std::vector<LinkPoint>> gathered(comm::World& world,
                                               const std::map<Key, std::vector<LinkPoint>>& mine) {
  std::map<Key, std::vector<LinkPoint>> out;
  for (const auto& numbers : gather_numbers(world, packed(mine))) {
    size_t at = 0;
    while (at < numbers.size()) {
      const Key key = {static_cast<int>(numbers[at]), static_cast<int>(numbers[at + 1])};
      const auto count = static_cast<size_t>(numbers[at + 2]);
      at += 3;
      for (size_t i = 0; i < count; ++i, at += numbers_per_point) {
        const double* n = numbers.data() + at;
        out[key].push_back(
            {static_cast<int64_t>(n[0]), {n[1], n[2], n[3], n[4], n[5], static_cast<int64_t>(n[6])}});
      }
    }
  }
  return out;
}

LatencyBandwidth fit_of(const std::vector<LinkPoint>& points) {
  std::vector<SizedTime> times;
  for (const auto& p : points) times.push_back({double(p.bytes), p.seconds.median});
  return times.empty() ? LatencyBandwidth{} : fit_latency_bandwidth(times);
}

std::vector<LinkRecord> records_of(const std::map<Key, std::vector<LinkPoint>>& isolated,
                                   const std::map<Key, std::vector<LinkPoint>>& loaded) {
  std::map<Key, LinkRecord> by_key;
  for (const auto& [key, points] : isolated) by_key[key].isolated = points;
  for (const auto& [key, points] : loaded) by_key[key].loaded = points;
  std::vector<LinkRecord> out;
  for (auto& [key, record] : by_key) {
    record.from = key.first;
    record.to = key.second;
    record.isolated_fit = fit_of(record.isolated);
    record.loaded_fit = fit_of(record.loaded);
    out.push_back(std::move(record));
  }
  return out;
}

/// Medians over the links of a tier, size by size.
cost::Curve tier_curve(const std::vector<const LinkRecord*>& links) {
  std::map<int64_t, std::vector<Summary>> by_size;
  for (const auto* link : links)
    for (const auto& p : link->loaded.empty() ? link->isolated : link->loaded)
      by_size[p.bytes].push_back(p.seconds);
  cost::Curve curve;
  for (const auto& [bytes, summaries] : by_size) {
    std::vector<double> medians, p95;
    cost::Curve::Point point;
    point.x = static_cast<double>(bytes);
    point.minimum = summaries.front().minimum;
    for (const auto& s : summaries) {
      medians.push_back(s.median);
      p95.push_back(s.p95);
      point.minimum = std::min(point.minimum, s.minimum);
      point.samples += s.samples;
    }
    point.seconds = median_of(medians);
    point.p95 = median_of(p95);
    curve.points.push_back(point);
  }
  return curve;
}

}  // namespace

LinkMap measure_links(comm::World& world, comm::Communicator& all, device::Device& device,
                      const LinkOptions& options, Budget& budget) {
  GALV_ASSERT(all.size() == world.size(), all.size(), world.size());
  LinkMap map;
  map.timer_resolution = timer_resolution();
  map.pairs = int64_t{world.size()} * (world.size() - 1) / 2;
  if (world.size() < 2) return map;
  LinkOptions effective = options;
  if (effective.sizes.empty()) effective.sizes = geometric_sizes(8, 4 * core::mib, 4);
  GALV_ASSERT(effective.sizes.front() >= 8, effective.sizes.front());

  const auto rounds = tournament(world.size());
  const auto nodes = nodes_of_ranks(world);
  std::vector<Round> slots;
  for (const auto& round : rounds)
    for (auto& slot : slots_of(round, nodes)) slots.push_back(std::move(slot));

  LinkBench bench(world, all, device, effective);
  const auto played = play_slots(bench, slots, Pass::isolated, effective, budget, 0.5 * budget.left());
  auto loaded = rounds;
  map.rounds = play_slots(bench, loaded, Pass::loaded, effective, budget, 0.0);
  for (int64_t i = 0; i < played; ++i)
    map.measured_pairs += static_cast<int64_t>(slots[static_cast<size_t>(i)].size());
  map.links = records_of(gathered(world, bench.results(Pass::isolated)),
                         gathered(world, bench.results(Pass::loaded)));
  map.timer_resolution = world.all_gather(map.timer_resolution).front();
  return map;
}

void store_links(const LinkMap& map, const std::vector<int>& node_of, cost::HardwareProfile& profile) {
  std::vector<const LinkRecord*> same, across;
  profile.links.clear();
  for (const auto& link : map.links) {
    const bool local = node_of.at(static_cast<size_t>(link.from)) == node_of.at(static_cast<size_t>(link.to));
    (local ? same : across).push_back(&link);
    const auto& alone = link.isolated.empty() ? link.loaded_fit : link.isolated_fit;
    const auto& loaded = link.loaded.empty() ? link.isolated_fit : link.loaded_fit;
    profile.links.push_back({link.from,
                             link.to,
                             alone.latency_seconds,
                             alone.bytes_per_second,
                             loaded.bytes_per_second,
                             "host MPI",
                             {},
                             {}});
  }
  profile.transfer_same_node = tier_curve(same);
  profile.transfer_across = tier_curve(across);
}

}  // namespace galvatron::measure
