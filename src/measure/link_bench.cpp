// The sender decides what is played and for how long; the receiver follows, so both always agree.
#include "measure/link_bench.hpp"

#include <algorithm>
#include <utility>

#include "measure/budget.hpp"
#include "measure/group_sets.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {
namespace {

constexpr double shortest_point = 0.0005;  // seconds; less would not even warm up
constexpr double patience = 100;           // times the seconds of a point: then others have the processor

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

Check check_of(Pass pass) {
  return pass == Pass::isolated ? Check::each : Check::last;
}

}  // namespace

LinkBench::LinkBench(comm::World& world, std::span<const LinkPath> paths, const LinkIterations& iterations,
                     int64_t largest)
    : world_(world), iterations_(iterations), node_of_(nodes_of_ranks(world)) {
  for (const auto& path : paths) pings_.emplace_back(*path.talk, *path.memory, largest);
}

void LinkBench::end_slot(const Round& slot, PingBench& ping) {
  if (const int waker = waker_of(slot, world_.rank(), node_of_); waker >= 0) {
    ping.doze(waker);
  } else {
    for (int rank = 0; rank < world_.size(); ++rank)
      if (waker_of(slot, rank, node_of_) == world_.rank()) ping.wake(rank);
  }
  world_.agree("measure links", [&] {
    if (!wrong_) return;
    const auto& m = *wrong_->wrong;
    throw LinkError(m, wrong_->wrong_byte, world_.host_of(world_.node_of(m.from)),
                    world_.host_of(world_.node_of(m.to)));
  });
}

std::vector<PilotPoint> LinkBench::look(const Round& slot, const std::vector<int64_t>& sizes,
                                        double seconds) {
  wrong_.reset();
  std::vector<PilotPoint> out;
  auto& ping = pings_.front();
  for (const auto& pair : slot) {
    if (pair.high == world_.rank()) receive(ping, pair.low, sizes, Pass::isolated);
    if (pair.low != world_.rank()) continue;
    SampleRule rule;
    rule.target = rule.minimum = 2;
    rule.seconds = 0;
    for (const auto bytes : sizes) {
      if (!out.empty() && out.back().seconds > seconds) {
        ping.skip(pair.high);
        continue;
      }
      const double begin = now_seconds();
      ping.send(pair.high, bytes, Check::each, rule);
      out.push_back({bytes, (now_seconds() - begin) / static_cast<double>(rule.target + 1)});
    }
  }
  end_slot(slot, ping);
  return out;
}

void LinkBench::play(const Round& slot, int path, Pass pass, const TierSizes& sizes, double seconds,
                     int visit) {
  wrong_.reset();
  auto& ping = pings_[static_cast<size_t>(path)];
  for (const auto& pair : slot) {
    const bool local = node_of_[static_cast<size_t>(pair.low)] == node_of_[static_cast<size_t>(pair.high)];
    const auto& own = local ? sizes.same_node : sizes.across;
    for (const auto& [from, to] : {std::pair{pair.low, pair.high}, std::pair{pair.high, pair.low}}) {
      if (world_.rank() == from) send(ping, {path, from, to, pass, visit}, own, seconds);
      if (world_.rank() == to) receive(ping, from, own, pass);
    }
  }
  end_slot(slot, ping);
}

SampleRule LinkBench::rule_for(int64_t bytes, double seconds) const {
  SampleRule rule;
  rule.target = bytes < iterations_.large_bytes ? iterations_.small : iterations_.large;
  rule.target =
      std::clamp(iterations_.volume_bytes / bytes, std::min(rule.minimum, rule.target), rule.target);
  rule.seconds = std::max(seconds, shortest_point);
  rule.patience = patience * rule.seconds;
  return rule;
}

void LinkBench::send(PingBench& ping, const LinkKey& key, const std::vector<int64_t>& sizes, double seconds) {
  const double begin = now_seconds();
  double token = 0;  // one way of the smallest size
  auto& results = mine_[key];
  for (size_t i = 0; i < sizes.size(); ++i) {
    // Small sizes leave most of their share to the large ones behind them.
    const double left = seconds - (now_seconds() - begin);
    if (left < -seconds && i > 1) {
      ping.skip(key.to);
      continue;
    }
    const auto rule = rule_for(sizes[i], left / static_cast<double>(sizes.size() - i));
    auto samples = ping.send(key.to, sizes[i], check_of(key.pass), rule).round_trips;
    if (i == 0) token = 0.5 * median_of(samples);
    // The way back carries 8 bytes; the way there is never the shorter half.
    for (auto& s : samples) s = std::max({s - token, 0.5 * s, 1e-9});
    results.push_back({sizes[i], std::move(samples)});
  }
}

void LinkBench::receive(PingBench& ping, int from, const std::vector<int64_t>& sizes, Pass pass) {
  for (const auto bytes : sizes) {
    auto result = ping.receive(from, bytes, check_of(pass));
    if (result.wrong && !wrong_) wrong_ = std::move(result);
  }
}

}  // namespace galvatron::measure
