// The doctor's judgement of machines that are not there: each fault is found and named, and a healthy job
// gets no word of advice.
#include "app/doctor.hpp"

#include <gtest/gtest.h>

namespace galvatron::app {
namespace {

/// `per_node[i]` ranks on node i, two cores each, all well.
std::vector<RankFacts> job(const std::vector<int>& per_node) {
  std::vector<RankFacts> ranks;
  for (size_t node = 0; node < per_node.size(); ++node)
    for (int local = 0; local < per_node[node]; ++local) {
      RankFacts facts;
      facts.node = static_cast<int>(node);
      facts.host = "node" + std::to_string(node);
      facts.cores = {2 * local, 2 * local + 1};
      facts.machine_cores = 64;
      facts.threads = 2;
      facts.available_bytes = int64_t{64} << 30;
      facts.program = "galvatron 1";
      facts.settings = "NCCL_DEBUG=WARN\nOMP_NUM_THREADS=2";
      ranks.push_back(facts);
    }
  return ranks;
}

void expect_says(const Check& check, Finding finding, const std::string& text) {
  EXPECT_EQ(check.finding, finding) << check.name << ": " << check.text;
  EXPECT_NE(check.text.find(text), std::string::npos) << check.text;
  EXPECT_EQ(check.advice.empty(), finding == Finding::ok) << check.advice;
}

TEST(Doctor, AHealthyJobIsWell) {
  const auto ranks = job({2, 2});
  for (const auto& check :
       {judge_nodes(ranks), judge_program(ranks), judge_settings(ranks), judge_binding(ranks),
        judge_devices(ranks), judge_memory(ranks), judge_limits(ranks), judge_clocks(ranks)})
    expect_says(check, Finding::ok, "");
}

TEST(Doctor, FactsSurviveTheWire) {
  auto facts = job({1})[0];
  facts.visible = "0,1";
  facts.device = "GPU-1";
  facts.infiniband = true;
  facts.locked_bytes = 65536;
  facts.yields = "1";
  const auto back = facts_from(to_text(facts));
  EXPECT_EQ(to_text(back), to_text(facts));
  EXPECT_EQ(back.settings, facts.settings);
  EXPECT_EQ(back.cores, facts.cores);
  EXPECT_EQ(back.locked_bytes, 65536);
  EXPECT_TRUE(back.infiniband);
}

TEST(Doctor, UnevenNodesAreRefused) {
  expect_says(judge_nodes(job({2, 1})), Finding::failure, "node0 2, node1 1");
}

TEST(Doctor, AnotherProgramAndOtherVariablesAreNamed) {
  auto ranks = job({2, 2});
  ranks[3].program = "galvatron 2";
  expect_says(judge_program(ranks), Finding::failure, "on ranks 3");
  ranks[2].settings = "NCCL_DEBUG=INFO\nOMP_NUM_THREADS=2";
  expect_says(judge_settings(ranks), Finding::warning, "NCCL_DEBUG=INFO NCCL_DEBUG=WARN");
}

TEST(Doctor, RanksOnOneCoreAndTooManyThreads) {
  auto ranks = job({2, 2});
  ranks[2].cores = ranks[3].cores = {7};
  expect_says(judge_binding(ranks), Finding::failure, "all 2 ranks of node1 are on core 7, of 64");
  ranks = job({2});
  ranks[0].threads = 8;
  expect_says(judge_binding(ranks), Finding::warning, "2 ranks with 10 threads in all share 4 cores");
  EXPECT_NE(judge_binding(ranks).advice.find("mpi_yield_when_idle"), std::string::npos);
  ranks[0].yields = ranks[1].yields = "1";
  EXPECT_EQ(judge_binding(ranks).advice.find("mpi_yield_when_idle"), std::string::npos);
}

TEST(Doctor, ADeviceBelongsToOneRank) {
  auto ranks = job({2, 1});
  ranks[0].device = "GPU-a";
  ranks[1].device = "GPU-b";
  ranks[2].device = "GPU-c";
  expect_says(judge_devices(ranks), Finding::ok, "3 devices");
  ranks[1].device = "GPU-a";
  expect_says(judge_devices(ranks), Finding::failure, "ranks 0 and 1 use the same device, GPU-a, on node0");
}

TEST(Doctor, VisibleDevicesMustSuffice) {
  auto ranks = job({2});
  ranks[0].visible = ranks[1].visible = "0";
  expect_says(judge_devices(ranks), Finding::failure, "2 ranks of node0 see 1 devices");
  ranks[1].visible = "1";
  expect_says(judge_devices(ranks), Finding::warning, "sees one device only");
  ranks[0].visible = ranks[1].visible = "0,1";
  expect_says(judge_devices(ranks), Finding::ok, "");
}

TEST(Doctor, TightLimitsAreNamedOnce) {
  auto ranks = job({2});
  ranks[1].available_bytes = int64_t{256} << 20;
  expect_says(judge_memory(ranks), Finding::warning, "128 MiB");
  ranks[0].address_space_bytes = int64_t{1} << 30;
  ranks[0].open_files = 256;
  expect_says(judge_limits(ranks), Finding::warning,
              "address space limited to 1.00 GiB; rank 0 on node0: 256 open files");
  ranks = job({2});
  ranks[1].infiniband = true;
  ranks[1].locked_bytes = 65536;
  expect_says(judge_limits(ranks), Finding::warning, "locked memory");
  ranks = job({2});
  ranks[0].shared_bytes = int64_t{64} << 20;
  expect_says(judge_limits(ranks), Finding::warning, "/dev/shm for 2 ranks");
}

TEST(Doctor, ClocksThatDiffer) {
  auto ranks = job({1, 1});
  ranks[1].clock_offset = -90;
  expect_says(judge_clocks(ranks), Finding::warning, "the clock of node1 is 90");
  EXPECT_NE(judge_clocks(ranks).text.find("behind node0's"), std::string::npos) << judge_clocks(ranks).text;
}

TEST(Doctor, TheTableHasAdviceBelowItsLine) {
  const auto text =
      doctor_table({{"one", Finding::ok, "well", ""}, {"two", Finding::failure, "bad", "mend it"}});
  EXPECT_EQ(text,
            "ok    one         well\n"
            "FAIL  two         bad\n"
            "                  to do: mend it\n");
}

}  // namespace
}  // namespace galvatron::app
