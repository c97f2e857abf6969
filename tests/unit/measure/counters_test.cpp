// Counters count, or say why they cannot.
#include "measure/counters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

namespace galvatron::measure {
namespace {

double value_of(const std::vector<Reading>& readings, const std::string& name) {
  const auto it =
      std::find_if(readings.begin(), readings.end(), [&](const auto& r) { return r.name == name; });
  EXPECT_NE(it, readings.end()) << "no reading '" << name << "'";
  return it == readings.end() ? -1 : it->value;
}

void burn(double seconds) {
  const auto begin = std::clock();
  while (static_cast<double>(std::clock() - begin) < seconds * CLOCKS_PER_SEC) {
  }
}

TEST(Counters, SoftwareCountsProcessorTime) {
  const auto counters = make_software_counters("a reason");
  counters->start();
  burn(0.05);
  const auto readings = counters->stop();
  const double busy = value_of(readings, "user seconds") + value_of(readings, "system seconds");
  EXPECT_GT(busy, 0.03);
  EXPECT_LT(busy, 1.0);
  EXPECT_EQ(counters->missing(), "a reason");
}

TEST(Counters, TheBestOnesEitherCountOrExplain) {
  const auto counters = make_counters();
  counters->start();
  burn(0.01);
  const auto readings = counters->stop();
  EXPECT_GE(value_of(readings, "user seconds"), 0);
  const bool cycles =
      std::any_of(readings.begin(), readings.end(), [](const auto& r) { return r.name == "cycles"; });
  EXPECT_TRUE(cycles || !counters->missing().empty()) << "neither cycles nor a reason";
}

TEST(Counters, AreReadable) {
  EXPECT_EQ(reading_text("links", {{"user seconds", 1.5}, {"page faults", 3}}),
            "links: user seconds 1.5, page faults 3");
}

}  // namespace
}  // namespace galvatron::measure
