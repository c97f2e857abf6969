// Curves inside and outside of what was measured.
#include <gtest/gtest.h>

#include "cost/profile.hpp"

namespace galvatron::cost {
namespace {

TEST(Curve, InterpolatesAndKnowsItsRange) {
  const Curve curve{{{.x = 10, .seconds = 1}, {.x = 20, .seconds = 3}, {.x = 40, .seconds = 4}}};
  EXPECT_DOUBLE_EQ(curve.at(10), 1);
  EXPECT_DOUBLE_EQ(curve.at(15), 2);
  EXPECT_DOUBLE_EQ(curve.at(30), 3.5);
  EXPECT_DOUBLE_EQ(curve.at(5), 1) << "below the first point: its value";
  EXPECT_DOUBLE_EQ(curve.at(60), 5) << "beyond the last: the line through the last two";
  EXPECT_TRUE(curve.measured(10) && curve.measured(40));
  EXPECT_FALSE(curve.measured(9.9) || curve.measured(40.1));
}

TEST(Curve, NoiseDoesNotMakeLargerSizesCheaper) {
  const Curve curve{{{.x = 10, .seconds = 3}, {.x = 20, .seconds = 2}}};
  EXPECT_DOUBLE_EQ(curve.at(40), 2);
}

TEST(Curve, OnePointIsARate) {
  const Curve curve{{{.x = 10, .seconds = 1}}};
  EXPECT_DOUBLE_EQ(curve.at(5), 1);
  EXPECT_DOUBLE_EQ(curve.at(20), 2);
  EXPECT_FALSE(Curve{}.measured(0));
  EXPECT_DOUBLE_EQ(Curve{}.at(3), 0);
}

}  // namespace
}  // namespace galvatron::cost
