// The whole phase on a tiny model: every step of its Programs has a time, all ranks hold the same profile,
// and the budget is kept.
#include "measure/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/format.hpp"
#include "kernels/kernels.hpp"
#include "measure/sampler.hpp"
#include "mpi/measure/support.hpp"
#include "runtime/kernel_args.hpp"
#include "support/models.hpp"

namespace galvatron::measure {
namespace {

using measure::test::Live;

/// Every layer of a small model under a few strategies and micro-batch sizes.
std::vector<LayerCase> small_cases() {
  std::vector<LayerCase> cases;
  const auto model = galvatron::test::small_model(1);
  for (const auto& layer : model.layers) {
    for (const int32_t tp : {1, 2}) {
      for (const int64_t samples : {1, 2, 4}) {
        for (const int32_t zero : {0, 3}) {
          program::LayerContext context;
          context.strategy.tp = tp;
          context.strategy.dp = 2;
          context.strategy.zero = zero;
          context.samples = samples;
          cases.push_back({layer, context});
        }
      }
    }
  }
  return cases;
}

Request small_request() {
  Request request;
  request.talk_mark = "messages";
  request.compute_mark = "kernels";
  request.model_fingerprint = "a model";
  request.layers = small_cases();
  request.conditions = {{"date", "2030-01-01"}};
  return request;
}

Options small_options(double seconds) {
  Options options;
  options.budget_seconds = seconds;
  options.links.sizes = geometric_sizes(8, 32768, 16);
  options.collectives.sizes = geometric_sizes(1024, 65536, 8);
  options.peaks.gemm_size = 128;
  options.peaks.array_bytes = 1 << 20;
  options.layers.seconds_per_program = 0.02;
  options.interference.sizes = {4096, 65536};
  options.interference.gemm_size = 64;
  options.interference.burst_seconds = 0.005;
  return options;
}

std::string profile_text(const cost::Profile& profile) {
  std::string text = profile.fingerprint + "\n";
  for (const auto& [key, curve] : profile.model.steps)
    for (const auto& p : curve.points) text += core::format("{} {} {}\n", key, p.x, p.seconds);
  for (const auto& [part, bytes] : profile.hardware.reserve_parts)
    text += core::format("{} {}\n", part, bytes);
  for (const auto& [name, value] : profile.hardware.conditions) text += name + value + "\n";
  return text;
}

/// Ends when all is measured, which a busy machine may take long for.
constexpr double plenty = 60;

void expect_covered(const cost::Profile& profile) {
  for (const auto& c : profile.coverage) {
    if (c.phase == "layers") {
      EXPECT_EQ(c.done, c.wanted);
    }
  }
}

struct Bench : Live {
  std::unique_ptr<kernels::Kernels> kernels = kernels::make_kernels(*device, 1);
  ReserveMeter meter;
  core::SilentLog log;

  Outcome measure(const Request& request, const Options& options, Measured earlier = {}) {
    return measure_all(*world, *device, request, options, std::move(earlier), meter, log);
  }
};

TEST(Profile, CoversWhatThePlansMayAskFor) {
  Bench bench;
  const auto request = small_request();
  const auto outcome = bench.measure(request, small_options(plenty));
  const auto& profile = outcome.measured.profile;
  expect_covered(profile);
  EXPECT_TRUE(outcome.left_out.empty());
  const runtime::KernelWorkspace workspace(*bench.kernels);
  for (const auto& [layer, context] : request.layers) {
    for (const auto& point : points_of(program::lower(layer, context, workspace))) {
      const auto it = profile.model.steps.find(point.key);
      ASSERT_NE(it, profile.model.steps.end()) << point.key << " was not measured";
      const auto& points = it->second.points;
      EXPECT_LE(points.front().x, point.rows) << point.key;
      EXPECT_GE(points.back().x, point.rows) << point.key;
    }
  }
  for (const auto& [key, curve] : profile.model.steps) {
    for (size_t i = 0; i < curve.points.size(); ++i) {
      EXPECT_GT(curve.points[i].seconds, 0) << key;
      EXPECT_TRUE(std::isfinite(curve.points[i].seconds)) << key;
      if (i > 0) {
        EXPECT_LT(curve.points[i - 1].x, curve.points[i].x) << key;
      }
    }
  }
  EXPECT_EQ(static_cast<int>(profile.model.rank_seconds.size()), bench.world->size());
  EXPECT_TRUE(bench.same_everywhere(profile_text(profile))) << "ranks hold different profiles";
}

TEST(Profile, SaysWhatItMeasuredAndWhere) {
  Bench bench;
  const auto outcome = bench.measure(small_request(), small_options(4));
  const auto& hardware = outcome.measured.profile.hardware;
  EXPECT_EQ(hardware.ranks, bench.world->size());
  EXPECT_EQ(static_cast<int>(hardware.gemm_flops.size()), bench.world->size());
  for (const double flops : hardware.gemm_flops) EXPECT_GT(flops, 1e6);
  for (const double rate : hardware.memory_bytes_per_second) EXPECT_GT(rate, 1e6);
  EXPECT_GT(hardware.reserve_bytes, 1 << 20);
  EXPECT_TRUE(hardware.reserve_parts.contains("program"));
  EXPECT_EQ(hardware.conditions.at("date"), "2030-01-01");
  EXPECT_EQ(outcome.measured.profile.coverage.size(), 6u)
      << "links, collectives, lateness, peaks, layers, interference";
  const auto report = outcome_report(outcome);
  for (const char* part : {"links", "peaks", "what the budget covered", "layers", "counters of rank 0"})
    EXPECT_NE(report.find(part), std::string::npos) << "'" << part << "' is missing in:\n" << report;
}

TEST(Profile, KeepsToTheBudget) {
  Bench bench;
  auto options = small_options(1.0);
  options.layers.seconds_per_program = 100;
  const double begin = now_seconds();
  bench.measure(small_request(), options);
  // Slack: the gemm and the arrays of the peaks are set up, and every point that was begun takes its minimum.
  EXPECT_LT(now_seconds() - begin, 1.0 + 5.0);
}

TEST(Profile, AStopRequestEndsItEarly) {
  Bench bench;
  auto options = small_options(30);
  options.layers.seconds_per_program = 100;
  const bool me = bench.world->rank() == bench.world->size() - 1;
  options.hooks.stop_requested = [me] { return me; };
  const double begin = now_seconds();
  const auto outcome = bench.measure(small_request(), options);
  EXPECT_TRUE(outcome.stopped);
  EXPECT_LT(now_seconds() - begin, 5);
}

TEST(Profile, AStoppedOneIsContinued) {
  Bench bench;
  const auto request = small_request();
  auto options = small_options(plenty);
  // Asked to stop when the layers have begun: everything before them is done.
  bool layers = false;
  options.hooks.alive = [&](const std::string& part) { layers = part == "layers"; };
  int looks = 0;
  options.hooks.stop_requested = [&] { return layers && ++looks > 12; };
  std::vector<int64_t> kept_steps;
  options.keep = [&](const Measured& m) {
    kept_steps.push_back(static_cast<int64_t>(m.profile.model.steps.size()));
  };
  auto first = bench.measure(request, options);
  ASSERT_TRUE(first.stopped);
  EXPECT_FALSE(first.measured.profile.complete);
  EXPECT_GE(kept_steps.size(), 3u) << "saved after links, collectives, peaks and at the end";
  const auto before = first.measured.profile;

  const auto second = bench.measure(request, small_options(plenty), std::move(first.measured));
  EXPECT_FALSE(second.stopped);
  const auto& profile = second.measured.profile;
  EXPECT_TRUE(profile.complete);
  expect_covered(profile);
  EXPECT_EQ(profile.hardware.links, before.hardware.links) << "links were measured again";
  EXPECT_EQ(profile.hardware.gemm_peaks, before.hardware.gemm_peaks);
  for (const auto& c : profile.coverage) {
    if (c.phase == "collectives" || c.phase == "links" || c.phase == "peaks") {
      EXPECT_EQ(c.kept, c.done) << c.phase;
    }
  }
  for (const auto& [key, curve] : before.model.steps)
    for (const auto& point : curve.points) {
      const auto& now = profile.model.steps.at(key).points;
      EXPECT_NE(std::find(now.begin(), now.end(), point), now.end()) << key << " was measured again";
    }
}

TEST(Profile, LinksWithoutTimeAreMeasuredOnceAndMadeUpWhereTheyAreMissing) {
  Bench bench;
  if (bench.world->size() == 1) GTEST_SKIP() << "one rank has no links";
  const auto request = small_request();
  auto none = bench.measure(request, small_options(1e-6));
  EXPECT_FALSE(none.measured.profile.hardware.links.empty()) << "without any link nothing can be priced";
  none.measured.profile.hardware.links.clear();
  auto& coverage = none.measured.profile.coverage;
  ASSERT_EQ(coverage.front().phase, "links");
  coverage.front().done = 0;
  // Another model, as a profile that fits is used as it is.
  auto other = request;
  other.layers.erase(other.layers.begin());
  const auto later = bench.measure(other, small_options(2), std::move(none.measured));
  EXPECT_FALSE(later.measured.profile.hardware.links.empty()) << "kept as covered, though nothing was";
}

TEST(Profile, AnotherModelOnTheSameHostsMeasuresOnlyItsOwnSteps) {
  Bench bench;
  auto request = small_request();
  auto first = bench.measure(request, small_options(plenty));
  const auto before = first.measured.profile;
  request.model_fingerprint = "a wider model";
  for (auto& [layer, context] : request.layers) layer.dims.ffn *= 2;
  const auto second = bench.measure(request, small_options(plenty), std::move(first.measured));
  const auto& profile = second.measured.profile;
  expect_covered(profile);
  EXPECT_EQ(profile.hardware.links, before.hardware.links);
  EXPECT_TRUE(profile.hardware.collectives == before.hardware.collectives);
  EXPECT_TRUE(profile.hardware.interference == before.hardware.interference);
  EXPECT_GT(profile.model.steps.size(), before.model.steps.size()) << "what was measured stays";
  for (const auto& [key, curve] : before.model.steps) EXPECT_TRUE(profile.model.steps.contains(key)) << key;
}

TEST(Profile, OtherConditionsKeepNothingThatDependsOnThem) {
  cost::Profile earlier;
  earlier.hardware.fingerprint = "hosts";
  earlier.model.fingerprint = "kernels";
  earlier.hardware.links.resize(2);
  earlier.hardware.gemm_peaks[core::DType::f32] = {1e9};
  earlier.hardware.interference.resize(1);
  earlier.model.steps["a step"].points.resize(1);
  earlier.model.rank_seconds = {1, 1};
  const auto all = still_valid(earlier, "hosts", "kernels").profile;
  EXPECT_TRUE(all.hardware == earlier.hardware && all.model == earlier.model);
  const auto other_kernels = still_valid(earlier, "hosts", "new kernels").profile;
  EXPECT_EQ(other_kernels.hardware.links.size(), 2u);
  EXPECT_TRUE(other_kernels.hardware.gemm_peaks.empty() && other_kernels.hardware.interference.empty());
  EXPECT_TRUE(other_kernels.model.steps.empty());
  const auto other_hosts = still_valid(earlier, "other hosts", "kernels").profile;
  EXPECT_TRUE(other_hosts.hardware.links.empty());
  EXPECT_EQ(other_hosts.model.steps.size(), 1u);
  EXPECT_TRUE(other_hosts.model.rank_seconds.empty()) << "who is slow is a matter of hosts";
  EXPECT_EQ(still_valid(earlier, "other hosts", "new kernels").parts, "");
}

TEST(Profile, TheFingerprintFollowsWhatMatters) {
  Bench bench;
  const auto request = small_request();
  const auto same = fingerprint_of(*bench.world, *bench.device, request, "a processor");
  EXPECT_EQ(same, fingerprint_of(*bench.world, *bench.device, small_request(), "a processor"));
  EXPECT_TRUE(bench.same_everywhere(same));
  auto other = request;
  other.conditions["date"] = "2031-01-01";
  EXPECT_EQ(same, fingerprint_of(*bench.world, *bench.device, other, "a processor"))
      << "the date does not matter";
  other.threads = 2;
  EXPECT_NE(same, fingerprint_of(*bench.world, *bench.device, other, "a processor")) << "threads";
  other = request;
  other.compute_mark = "other kernels";
  EXPECT_NE(same, fingerprint_of(*bench.world, *bench.device, other, "a processor")) << "kernels";
  other = request;
  other.model_fingerprint = "another model";
  EXPECT_NE(same, fingerprint_of(*bench.world, *bench.device, other, "a processor")) << "model";
  other = request;
  other.layers.pop_back();
  EXPECT_NE(same, fingerprint_of(*bench.world, *bench.device, other, "a processor")) << "shapes";
}

}  // namespace
}  // namespace galvatron::measure
