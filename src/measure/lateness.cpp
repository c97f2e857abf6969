// Bursts of rounds: computing and meeting, computing alone, meeting alone, taking turns so that a load that
// comes and goes meets all three. Who has no group computes and meets nobody: all cores are busy in training.
#include "measure/lateness.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "core/format.hpp"
#include "measure/collective_call.hpp"
#include "measure/gather.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {
namespace {

constexpr int turns = 5;

class LatenessBench {
 public:
  LatenessBench(comm::World& world, device::Device& device, const std::function<void()>& compute,
                int64_t elements)
      : world_(world),
        compute_(compute),
        elements_(elements),
        in_(device, elements * core::size_of(core::DType::f32)),
        out_(device, elements * core::size_of(core::DType::f32)) {}

  /// Seconds of one of so many rounds: so many plays, then a meeting where there is a group. Mean over the
  /// ranks, on every rank. Collective.
  double round(comm::Communicator* group, int64_t plays, int64_t rounds) {
    world_.barrier();
    const double begin = now_seconds();
    for (int64_t i = 0; i < rounds; ++i) {
      for (int64_t k = 0; k < plays; ++k) compute_();
      if (group != nullptr)
        call(*group, core::CollectiveKind::all_reduce, in_.data(), out_.data(), elements_);
    }
    double seconds = (now_seconds() - begin) / static_cast<double>(rounds * world_.size());
    world_.all_reduce(std::span(&seconds, 1), core::ReduceOp::sum);
    return seconds;
  }

 private:
  comm::World& world_;
  const std::function<void()>& compute_;
  int64_t elements_;
  device::Buffer in_, out_;
};

/// One point: plays for about `compute` seconds between two meetings, `seconds` for all turns. Collective.
cost::Curve::Point measure_point(comm::World& world, LatenessBench& bench, comm::Communicator* group,
                                 double compute, double seconds, const std::string& name,
                                 store::RawTable& raw) {
  const auto rounds_of = [&](double round) {
    return static_cast<int64_t>(std::clamp(seconds / (3 * turns) / std::max(round, 1e-7), 2.0, 5000.0));
  };
  // The first ones make what later ones use again.
  bench.round(group, 1, 2);
  const double play = bench.round(nullptr, 8, 4) / 8;
  const double meeting = bench.round(group, 0, 8);
  const auto plays = std::max<int64_t>(1, std::llround(compute / std::max(play, 1e-9)));
  const auto rounds = rounds_of(static_cast<double>(plays) * play + meeting);
  const auto meetings = rounds_of(meeting);
  std::vector<double> computing, late;
  for (int turn = 0; turn < turns; ++turn) {
    const double both = bench.round(group, plays, rounds);
    computing.push_back(bench.round(nullptr, plays, rounds));
    late.push_back(std::max(0.0, both - computing.back() - bench.round(group, 0, meetings)));
  }
  keep_samples(world, name, compute, late, raw);
  return point_of(median_of(computing), summarise(late));
}

/// Later meetings are not sooner ones: what falls between two points is noise.
void insert(cost::Curve& curve, const cost::Curve::Point& point) {
  auto& points = curve.points;
  const auto behind = std::upper_bound(points.begin(), points.end(), point,
                                       [](const auto& a, const auto& b) { return a.x < b.x; });
  points.insert(behind, point);
  for (size_t i = 1; i < points.size(); ++i)
    points[i].seconds = std::max(points[i].seconds, points[i - 1].seconds);
}

}  // namespace

LatenessCoverage measure_lateness(comm::World& world, device::Device& device,
                                  const std::function<void()>& compute, const std::vector<GroupSet>& sets,
                                  const LatenessOptions& options, Budget& budget,
                                  cost::HardwareProfile& profile, store::RawTable& raw) {
  raw.x_unit = "s";
  raw.meaning = "what the last of a group is late when all computed and meet, over seconds of computing";
  const auto chosen = largest_sets(sets);
  const auto each = static_cast<int64_t>(options.compute_seconds.size());
  LatenessCoverage coverage;
  coverage.wanted = each * static_cast<int64_t>(chosen.size());
  for (const auto* set : chosen)
    if (const auto found = profile.lateness.find(set->shape); found != profile.lateness.end())
      coverage.kept += std::min(each, static_cast<int64_t>(found->second.points.size()));
  coverage.measured = coverage.kept;
  if (coverage.measured == coverage.wanted) return coverage;
  const auto groups = live_groups(world, chosen, profile);
  int32_t largest = 1;
  for (const auto* set : chosen) largest = std::max(largest, set->shape.ranks);
  LatenessBench bench(world, device, compute, elements_for(options.meeting_bytes, largest));
  for (const auto* set : chosen) {
    auto& curve = profile.lateness[set->shape];
    const auto name = core::format("lateness of {} ranks on {} nodes", set->shape.ranks, set->shape.nodes);
    for (auto i = static_cast<int64_t>(curve.points.size()); i < each; ++i) {
      budget.note(coverage.measured, coverage.wanted, "points");
      const double left = budget.left();
      if (left <= 0) break;
      const double fair = left / static_cast<double>(coverage.wanted - coverage.measured);
      insert(curve, measure_point(world, bench, groups.at(set->shape).get(),
                                  options.compute_seconds[static_cast<size_t>(i)],
                                  std::min(fair, 3 * turns * options.burst_seconds), name, raw));
      ++coverage.measured;
    }
    if (curve.points.empty()) profile.lateness.erase(set->shape);
  }
  return coverage;
}

}  // namespace galvatron::measure
