// Rounds: in each of them every rank plays one Program for the same time, so that all find the machine as
// busy as in training. What they found is exchanged at the end of a round, and every rank keeps all of it.
#include "measure/layers.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "measure/gather.hpp"
#include "measure/layer_bench.hpp"
#include "measure/statistics.hpp"
#include "runtime/kernel_args.hpp"

namespace galvatron::measure {
namespace {

using Times = std::map<StepPoint, std::vector<double>>;

/// A burst lasts at least this long, so that ranks which share a core take turns several times within it.
constexpr double burst_seconds = 0.08;
/// Samples of a point and Program that are kept for later study.
constexpr size_t samples_kept = 200;

/// Plays for `seconds`, once at least, after one play that warms up. Local.
Times sample(LayerBench& bench, double seconds) {
  const double begin = now_seconds();
  Times cold, times;
  bench.play(cold);
  const double first = now_seconds() - begin;
  if (2 * first > seconds) return cold;  // no time for more: a cold time is better than none
  do bench.play(times);
  while (now_seconds() - begin + first <= seconds);
  return times;
}

/// How much longer the plays took than their medians say: 1 on a core of its own, the number of sharers where
/// ranks share one. A step is shorter than a time slice, so its median never sees the sharing; the sum over a
/// burst does.
double sharing_of(const Times& times) {
  double all = 0, medians = 0;
  for (const auto& [point, samples] : times) {
    for (const double sample : samples) all += sample;
    medians += summarise(samples).median * static_cast<double>(samples.size());
  }
  return medians > 0 ? std::max(1.0, all / medians) : 1.0;
}

/// What a rank found for one point.
struct Found {
  Summary own;
  double seconds = 0;  ///< the median with what sharing adds
  std::vector<double> samples;
};

/// One after the other; a rank that could not play sends nothing.
std::vector<double> packed(const Times& times) {
  std::vector<double> out;
  const double sharing = sharing_of(times);
  for (const auto& [point, samples] : times) {
    const auto s = summarise(samples);
    const auto kept = std::min(samples.size(), samples_kept);
    out.insert(out.end(), {s.median * sharing, s.median, s.minimum, s.p95, s.p99, s.coefficient_of_variation,
                           static_cast<double>(s.samples), static_cast<double>(kept)});
    out.insert(out.end(), samples.begin(), samples.begin() + static_cast<int64_t>(kept));
  }
  return out;
}

std::vector<Found> unpacked(const std::vector<double>& numbers) {
  std::vector<Found> out;
  for (size_t at = 0; at < numbers.size();) {
    const double* n = numbers.data() + at;
    Found found;
    found.seconds = n[0];
    found.own.median = n[1];
    found.own.minimum = n[2];
    found.own.p95 = n[3];
    found.own.p99 = n[4];
    found.own.coefficient_of_variation = n[5];
    found.own.samples = static_cast<int64_t>(n[6]);
    const auto kept = static_cast<size_t>(n[7]);
    found.samples.assign(n + 8, n + 8 + kept);
    out.push_back(std::move(found));
    at += 8 + kept;
  }
  return out;
}

class Rounds {
 public:
  Rounds(comm::World& world, device::Device& device, kernels::Kernels& kernels, const Worklist& list,
         const LayerOptions& options, cost::ModelProfile& profile, store::RawTable& raw)
      : world_(world),
        device_(device),
        kernels_(kernels),
        workspace_(kernels),
        list_(list),
        options_(options),
        profile_(profile),
        raw_(raw) {}

  /// The first Program on every rank. Three bursts, of which the quickest tells how fast a rank is: the
  /// others may have met something else that ran there. Collective.
  bool common(double seconds) {
    std::vector<double> own(static_cast<size_t>(world_.size()), 0);
    std::map<StepPoint, cost::Curve::Point> slowest;
    for (int burst = 0; burst < 3; ++burst) {
      const auto all = play(0, seconds / 3);
      for (size_t r = 0; r < all.size(); ++r) {
        if (all[r].empty()) return false;
        double sum = 0;
        for (const auto& found : all[r]) sum += found.own.median;
        own[r] = burst == 0 ? sum : std::min(own[r], sum);
        note(0, static_cast<int>(r), all[r], 1.0, slowest);
      }
    }
    profile_.rank_seconds = own;
    for (const auto& [point, value] : slowest) add(point, value);
    if (!slow_ones(own, Worse::higher).empty()) {
      const double worst = *std::max_element(own.begin(), own.end());
      for (const double seconds_here : own) slowness_.push_back(worst / seconds_here);
    }
    return true;
  }

  /// Program first + r on rank r. Collective.
  void shared(size_t first, double seconds, LayerCoverage& coverage) {
    const auto mine = first + static_cast<size_t>(world_.rank());
    const auto all = play(mine < list_.cases.size() ? mine : 0, seconds);
    for (size_t r = 0; r < all.size() && first + r < list_.cases.size(); ++r) {
      if (all[r].empty()) {
        coverage.left_out.push_back(missed(first + r));
        continue;
      }
      std::map<StepPoint, cost::Curve::Point> values;
      note(first + r, static_cast<int>(r), all[r], slowness_.empty() ? 1.0 : slowness_[r], values);
      for (const auto& [point, value] : values) add(point, value);
      ++coverage.programs;
    }
  }

  std::string missed(size_t i) const {
    const auto& [layer, context] = list_.cases[i];
    const auto program = program::lower(layer, context, workspace_);
    return core::format("{} as {} with {} samples needs {}: no memory", layer.kind,
                        spec::to_string(context.strategy), context.samples,
                        core::format_bytes(bench_bytes(program)));
  }

 private:
  /// Case `mine` on this rank; what every rank found. Collective.
  std::vector<std::vector<Found>> play(size_t mine, double seconds) {
    const auto& [layer, context] = list_.cases[mine];
    const auto program = program::lower(layer, context, workspace_);
    const auto bench = make_bench(device_, kernels_, program, options_.memory_bytes);
    world_.barrier();
    const auto times = bench ? sample(*bench, seconds) : Times{};
    std::vector<std::vector<Found>> out;
    for (const auto& numbers : gather_numbers(world_, packed(times))) out.push_back(unpacked(numbers));
    return out;
  }

  /// What one rank found in a case: the largest value of each point, and all samples.
  void note(size_t i, int rank, const std::vector<Found>& found, double slowness,
            std::map<StepPoint, cost::Curve::Point>& values) {
    const auto& points = list_.offers[i];
    GALV_ASSERT(points.size() == found.size(), points.size(), found.size());
    for (size_t p = 0; p < points.size(); ++p) {
      auto& value = values[points[p]];
      value.x = points[p].rows;
      value.seconds = std::max({value.seconds, found[p].seconds * slowness, 1e-9});
      value.minimum = std::max(value.minimum, found[p].own.minimum);
      value.p95 = std::max(value.p95, found[p].own.p95);
      value.p99 = std::max(value.p99, found[p].own.p99);
      value.variation = std::max(value.variation, found[p].own.coefficient_of_variation);
      value.samples = std::max(value.samples, found[p].own.samples);
      raw_.series.push_back({points[p].key, points[p].rows, rank, found[p].samples});
    }
  }

  /// A point that several Programs hold keeps the first one's value, with which its curve began.
  void add(const StepPoint& point, const cost::Curve::Point& value) {
    auto& points = profile_.steps[point.key].points;
    const auto at = std::lower_bound(points.begin(), points.end(), point.rows,
                                     [](const auto& p, double rows) { return p.x < rows; });
    if (at == points.end() || at->x != point.rows) points.insert(at, value);
  }

  comm::World& world_;
  device::Device& device_;
  kernels::Kernels& kernels_;
  runtime::KernelWorkspace workspace_;
  const Worklist& list_;
  const LayerOptions& options_;
  cost::ModelProfile& profile_;
  store::RawTable& raw_;
  std::vector<double> slowness_;  ///< of the slowest rank over each rank; empty = all alike
};

bool knows(const cost::ModelProfile& profile, const StepPoint& point) {
  const auto curve = profile.steps.find(point.key);
  if (curve == profile.steps.end()) return false;
  const auto& points = curve->second.points;
  return std::any_of(points.begin(), points.end(), [&](const auto& p) { return p.x == point.rows; });
}

}  // namespace

LayerCoverage measure_layers(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                             const std::vector<LayerCase>& candidates, const LayerOptions& options,
                             Budget& budget, cost::ModelProfile& profile, store::RawTable& raw) {
  raw.x_unit = "rows";
  raw.meaning = core::format("compute steps in their Programs; at most {} samples of each", samples_kept);
  const runtime::KernelWorkspace workspace(kernels);
  constexpr double grid = 1.4;
  const auto list = make_worklist(candidates, workspace, grid,
                                  [&](const StepPoint& point) { return knows(profile, point); });
  LayerCoverage coverage;
  coverage.wanted_points = static_cast<int64_t>(list.points.size());
  coverage.kept_points = coverage.points = list.known;
  coverage.wanted_programs = static_cast<int64_t>(list.cases.size());
  Rounds rounds(world, device, kernels, list, options, profile, raw);
  const auto ranks = static_cast<size_t>(world.size());
  const auto slice = [&](size_t from) {
    const auto left = static_cast<double>((list.cases.size() - from + ranks - 1) / ranks);
    return std::clamp(budget.left() / left, 0.0, std::max(options.seconds_per_program, burst_seconds));
  };
  size_t next = 0;
  // The first Program is played whatever the time: without it nothing of this model has a measured price.
  const auto go_on = [&] { return !budget.spent() || (next == 0 && !budget.stopped()); };
  while (next < list.cases.size() && go_on()) {
    if (next == 0) {
      if (rounds.common(std::max(slice(0), 0.03)))
        ++coverage.programs;
      else
        coverage.left_out.push_back(rounds.missed(0));
      next = 1;
    } else {
      rounds.shared(next, slice(next), coverage);
      next += ranks;
    }
    coverage.points = std::count_if(list.points.begin(), list.points.end(),
                                    [&](const auto& point) { return knows(profile, point); });
    budget.note(coverage.points, coverage.wanted_points, "step shapes");
  }
  return coverage;
}

}  // namespace galvatron::measure
