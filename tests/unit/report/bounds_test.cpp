// However large the run, the page stays small.

#include <gtest/gtest.h>

#include "report/page.hpp"
#include "report/pictures.hpp"
#include "unit/report/run_values.hpp"

namespace galvatron::report {
namespace {

constexpr size_t most_bytes = 2'000'000;

TEST(Bounds, AThousandRanksAndAMillionSteps) {
  auto values = test::small_run();
  // All pairs would be a million links: those of every rank with a few others do for the map.
  auto hardware = test::hardware_of(8, 8);
  const auto links = std::move(hardware.links);
  hardware.links.clear();
  hardware.ranks = 1024;
  hardware.nodes = 128;
  hardware.ranks_per_node = 8;
  hardware.hosts.clear();
  for (int node = 0; node < 128; ++node)
    hardware.hosts.push_back("a-rather-long-host-name-" + std::to_string(node));
  for (int32_t from = 0; from < 1024; ++from)
    for (int32_t to = from % 7; to < 1024; to += 7)
      if (from != to) {
        auto link = links.front();
        link.from = from;
        link.to = to;
        if (to % 64 == 0) link.isolated = test::curve_of(20, 1e-6, 1e9);
        hardware.links.push_back(link);
      }
  hardware.memory_bytes_per_second.assign(1024, 1e10);
  hardware.gemm_peaks[core::DType::bf16].assign(1024, 4e14);
  for (int i = 0; i < 5000; ++i) {
    hardware.interference.push_back(
        {core::CollectiveKind::all_gather, {8, 1, 8}, 1024.0 * i, 1.1, 1 + 0.001 * i});
    hardware.reserve_parts["part " + std::to_string(i)] = i;
  }
  values.hardware = hardware;
  for (int i = 0; i < 3000; ++i) values.verdicts.push_back("slow link " + std::to_string(i));
  values.collectives.clear();
  for (int i = 0; i < 40; ++i)
    for (const char* name : {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"})
      values.collectives.push_back({name, std::to_string(i) + " ranks", 1.5, test::curve_of(20, 1e-5, 1e9)});
  values.model = test::small_model(100);
  values.plan = test::plan_of(*values.model, 64, 16, 512);
  for (size_t i = 0; i < values.plan->layers.size(); ++i)
    values.plan->layers[i].zero = static_cast<int32_t>(i % 4);
  values.measured_step.clear();
  for (int rank = 0; rank < 1024; ++rank) {
    TimelineRow row{"rank " + std::to_string(rank), {}};
    for (int i = 0; i < 1024; ++i)
      row.bars.push_back(
          {i % 2 == 0 ? BarKind::forward : BarKind::backward, i / 2, 0.001 * i, 0.001 * i + 0.0009});
    values.measured_step.push_back(std::move(row));
  }
  values.metrics.clear();
  for (int step = 1; step <= 1'000'000; ++step)
    values.metrics.push_back(
        {step, step == 500'000 ? 99.0 : 3.0, step % 1000 == 0 ? std::optional(3.1) : std::nullopt, 0.1});
  for (int i = 0; i < 100'000; ++i)
    values.events.push_back({1e9 + i, i, "checkpoint", "checkpoint of step " + std::to_string(i)});
  values.deck_text.assign(1 << 20, '<');
  values.search_text.assign(1 << 20, '&');
  EXPECT_LT(page(values).size(), most_bytes);
}

TEST(Bounds, ASpikeIsNotLost) {
  std::vector<Metric> metrics;
  for (int step = 1; step <= 100'000; ++step) metrics.push_back({step, step == 50'001 ? 9.0 : 3.0, {}, 0.1});
  const auto picture = loss_picture(metrics);
  // The axis goes from 2 to 10 in the field from y = 34 to 314: only the spike reaches 9.
  EXPECT_NE(picture.find(",69 "), std::string::npos);
}

TEST(Bounds, AMapOfManyRanksIsOneOfNodes) {
  const auto map = link_maps(test::hardware_of(64, 8));
  EXPECT_NE(map.find("a row or column is one node"), std::string::npos);
  EXPECT_NE(map.find("node3 → node5"), std::string::npos);
  EXPECT_EQ(link_maps(test::hardware_of(8, 8)).find("worst link"), std::string::npos);
}

}  // namespace
}  // namespace galvatron::report
