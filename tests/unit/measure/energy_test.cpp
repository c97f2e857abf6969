// Energy is counted from files that a test can write: packages are summed, their parts are not, a counter
// that begins anew goes on, and what cannot be read is said.
#include "measure/energy.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/folder.hpp"

namespace galvatron::measure {
namespace {

constexpr double never = 1e6;  // seconds until the thread looks

void set(const std::filesystem::path& root, const std::string& zone, int64_t microjoules) {
  const auto folder = root / "sys" / "class" / "powercap" / zone;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "energy_uj") << microjoules << '\n';
  std::ofstream(folder / "max_energy_range_uj") << 10000000 << '\n';
}

TEST(Energy, PackagesAreSummedAndBeginAnew) {
  const store::test::Folder folder;
  set(folder.path(), "intel-rapl:0", 9000000);
  set(folder.path(), "intel-rapl:1", 100);
  set(folder.path(), "intel-rapl:0:0", 5000000);
  EnergyMeter meter(folder.path(), never);
  EXPECT_EQ(meter.missing(), "");
  EXPECT_DOUBLE_EQ(meter.joules(), 0.0);
  set(folder.path(), "intel-rapl:0", 1000000);
  set(folder.path(), "intel-rapl:1", 500100);
  set(folder.path(), "intel-rapl:0:0", 9000000);
  EXPECT_DOUBLE_EQ(meter.joules(), 2.5);
  set(folder.path(), "intel-rapl:0", 2000000);
  EXPECT_DOUBLE_EQ(meter.joules(), 3.5);
}

TEST(Energy, AMachineWithoutCountersSaysSo) {
  const store::test::Folder folder;
  EnergyMeter meter(folder.path(), never);
  EXPECT_EQ(meter.joules(), 0.0);
  EXPECT_NE(meter.missing().find("powercap has no processor package"), std::string::npos) << meter.missing();
  std::filesystem::create_directories(folder.path() / "sys/class/powercap/intel-rapl:0");
  const EnergyMeter other(folder.path(), never);
  EXPECT_NE(other.missing().find("energy_uj cannot be read"), std::string::npos) << other.missing();
}

}  // namespace
}  // namespace galvatron::measure
