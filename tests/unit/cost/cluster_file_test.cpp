// Cluster files: the shipped one is readable, broken ones say everything that is wrong.
#include "cost/cluster_file.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "cost/hardware_price.hpp"
#include "support/golden.hpp"

namespace galvatron::cost {
namespace {

TEST(ClusterFile, TheShippedOneIsRead) {
  const auto text = test::read_file(std::string(GALVATRON_SOURCE_DIR) + "/inputs/clusters/nominal.toml");
  const auto profile = hardware_from_toml(text, "nominal.toml");
  EXPECT_TRUE(profile.nominal);
  const HardwarePrice price(profile);
  const Seconds far = price.transfer(Tier::across, 1.177e9);
  EXPECT_NEAR(far.seconds, 1.00003, 1e-9);
  EXPECT_DOUBLE_EQ(far.modelled, far.seconds) << "nominal figures are not measured";
  EXPECT_NEAR(price.transfer(Tier::same_node, 6.4e3).seconds, 2e-6, 1e-12);
  EXPECT_GT(price.gemm_flops(), 0);
}

TEST(ClusterFile, SaysEverythingThatIsWrong) {
  const std::string text =
      "[compute]\ngemm_flop = 1e9\nmemory_bytes_per_second = \"fast\"\n[same_node]\nlatency_seconds = "
      "-1\nbytes_per_second = 1e9\n"
      "[across]\nlatency_seconds = 0\nbytes_per_second = 0\n[disks]\nfast = true\n";
  try {
    hardware_from_toml(text, "c.toml");
    FAIL() << "accepted";
  } catch (const core::UserError& error) {
    const std::string got = error.what();
    for (const char* part :
         {"c.toml:2: [compute] unknown key 'gemm_flop' (did you mean 'gemm_flops'?)",
          "c.toml:3: [compute] memory_bytes_per_second must be a number above 0",
          "c.toml:5: [same_node] latency_seconds must be a number of at least 0",
          "c.toml:9: [across] bytes_per_second must be a number above 0",
          "c.toml:11: [disks] is no section of a cluster file", "c.toml: [compute] 'gemm_flops' is missing",
          "c.toml: [memory] 'reserve_bytes' is missing"})
      EXPECT_NE(got.find(part), std::string::npos) << part << "\ngot: " << got;
  }
}

TEST(ClusterFile, BrokenTextIsAUserError) {
  for (const char* text : {"", "=", "[compute", "gemm_flops = 3", "[compute]\ngemm_flops = nan"})
    EXPECT_THROW(hardware_from_toml(text, "c.toml"), core::UserError) << text;
}

}  // namespace
}  // namespace galvatron::cost
