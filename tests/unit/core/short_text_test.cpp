// Text put together in place is what it should be, and never longer than its room.

#include "core/short_text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace galvatron::core {
namespace {

TEST(ShortText, HoldsTextsAndNumbers) {
  ShortText text;
  text.add("micro-batch ").add(int64_t{12}).add(" of ").add(std::numeric_limits<int64_t>::min());
  EXPECT_EQ(text.view(), "micro-batch 12 of -9223372036854775808");
}

TEST(ShortText, IsCutWhereItIsFull) {
  ShortText text;
  const std::string long_one(90, 'x');
  text.add(long_one).add(int64_t{123456789}).add("more");
  EXPECT_EQ(text.view(), long_one + "123456");
}

}  // namespace
}  // namespace galvatron::core
