// Sizes and times become text and come back.
#include "core/units.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/errors.hpp"

namespace galvatron::core {
namespace {

TEST(Units, FormatBytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(12897485), "12.3 MiB");
  EXPECT_EQ(format_bytes(gib), "1.00 GiB");
  EXPECT_EQ(format_bytes(mib - 1), "1.00 MiB") << "rounding must not print 1024 KiB";
  EXPECT_EQ(format_bytes(-5 * kib), "-5.00 KiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<int64_t>::min()), "-8.00 EiB");
}

TEST(Units, FormatSeconds) {
  EXPECT_EQ(format_seconds(0.0), "0 s");
  EXPECT_EQ(format_seconds(3.2e-8), "32.0 ns");
  EXPECT_EQ(format_seconds(12.3e-6), "12.3 us");
  EXPECT_EQ(format_seconds(0.00999), "9.99 ms");
  EXPECT_EQ(format_seconds(1.5), "1.50 s");
  EXPECT_EQ(format_seconds(125.0), "2 min 05 s");
  EXPECT_EQ(format_seconds(3599.9), "1 h 00 min");
  EXPECT_EQ(format_seconds(11220.0), "3 h 07 min");
  EXPECT_EQ(format_seconds(-2.0), "-2.00 s");
}

TEST(Units, ParseBytes) {
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("1 MiB"), mib);
  EXPECT_EQ(parse_bytes(" 1.5GiB "), gib + gib / 2);
  EXPECT_EQ(parse_bytes("200 MB"), 200'000'000);
  EXPECT_EQ(parse_bytes("64G"), 64 * gib);
  for (const char* wrong : {"", "MiB", "-1", "1 mib", "1 MiB x", "nan", "inf", "1e300", "99999999999 GiB"}) {
    EXPECT_THROW(parse_bytes(wrong), UserError) << wrong;
  }
}

TEST(Units, ParseSeconds) {
  EXPECT_DOUBLE_EQ(parse_seconds("90"), 90.0);
  EXPECT_DOUBLE_EQ(parse_seconds("250 ms"), 0.25);
  EXPECT_DOUBLE_EQ(parse_seconds("1.5 h"), 5400.0);
  EXPECT_DOUBLE_EQ(parse_seconds("30:00"), 1800.0);
  EXPECT_DOUBLE_EQ(parse_seconds("12:30:00"), 45000.0);
  EXPECT_DOUBLE_EQ(parse_seconds("1-12:00:00"), 129600.0);
  for (const char* wrong : {"", "soon", "-5", "1:", ":5", "1:2:3:4", "1-5", "1 week", "nan"}) {
    EXPECT_THROW(parse_seconds(wrong), UserError) << wrong;
  }
}

}  // namespace
}  // namespace galvatron::core
