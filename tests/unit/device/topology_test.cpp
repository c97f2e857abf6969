// What the host offers, and the memory limit from made-up proc and cgroup files of both versions.

#include "device/topology.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace galvatron::device {
namespace {

class FakeHost : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("galvatron_topology_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    write("proc/meminfo", "MemTotal:       8000000 kB\nMemAvailable:   1000 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  int64_t available() const { return available_host_memory(root_.string()); }

  std::filesystem::path root_;
};

TEST_F(FakeHost, NoGroupMeansMemAvailable) {
  EXPECT_EQ(available(), 1000 * 1024);
}

TEST_F(FakeHost, Version2TakesTheTightestAncestor) {
  write("proc/self/cgroup", "0::/slurm/job_1/step_0\n");
  write("sys/fs/cgroup/slurm/job_1/step_0/memory.max", "max\n");
  write("sys/fs/cgroup/slurm/job_1/memory.max", "500000\n");
  write("sys/fs/cgroup/slurm/memory.max", "900000\n");
  EXPECT_EQ(available(), 500000);
}

TEST_F(FakeHost, Version1ReadsTheMemoryController) {
  write("proc/self/cgroup", "4:cpu,cpuacct:/a\n3:memory:/slurm/job_1\n0::/\n");
  write("sys/fs/cgroup/memory/slurm/job_1/memory.limit_in_bytes", "600000\n");
  write("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(available(), 600000);
}

TEST_F(FakeHost, AGenerousLimitChangesNothing) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "99999999999\n");
  EXPECT_EQ(available(), 1000 * 1024);
}

TEST(Topology, ThisHostHasCoresAndMemory) {
  const auto host = host_topology();
  EXPECT_FALSE(host.cores.empty());
  EXPECT_TRUE(std::is_sorted(host.cores.begin(), host.cores.end()));
  EXPECT_EQ(host.cores, allowed_cores());
  EXPECT_GT(host.available_bytes, 0);
  EXPECT_FALSE(host.processor.empty());
  for (const auto& cache : host.caches) EXPECT_GT(cache.bytes, 0) << "level " << cache.level;
}

}  // namespace
}  // namespace galvatron::device
