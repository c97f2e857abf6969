// Growth is booked under the right name, and shrinking never turns into a negative part.
#include "measure/reserve.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace galvatron::measure {
namespace {

TEST(Reserve, BooksGrowthByPart) {
  int64_t resident = 100;
  ReserveMeter meter([&] { return resident; });
  meter.mark("process");
  resident = 140;
  meter.mark("communicators");
  resident = 500;
  meter.skip();
  resident = 450;
  meter.mark("kernels");
  resident = 507;
  meter.mark("kernels");
  EXPECT_EQ(meter.parts().at("process"), 100);
  EXPECT_EQ(meter.parts().at("communicators"), 40);
  EXPECT_EQ(meter.parts().at("kernels"), 7);
  EXPECT_EQ(meter.total(), 147);
}

TEST(Reserve, SettlesForWhatIsThereInTheEnd) {
  int64_t resident = 100;
  ReserveMeter meter([&] { return resident; });
  meter.mark("process");
  resident = 150;
  meter.skip();  // 50 that the caller holds
  resident = 190;
  meter.mark("communicators");
  resident = 290;
  meter.mark("kernels");
  resident = 175;
  meter.settle();
  EXPECT_EQ(meter.total(), 125) << "175 without the 50";
  EXPECT_EQ(meter.parts().at("kernels"), 0) << "the last mark gives back first";
  EXPECT_EQ(meter.parts().at("communicators"), 25);
  EXPECT_EQ(meter.parts().at("process"), 100);
}

TEST(Reserve, SeesTouchedMemory) {
  const auto before = resident_bytes();
  ASSERT_GT(before, 0) << "no /proc/self/statm";
  constexpr size_t size = size_t{64} << 20;
  std::vector<char> held(size);
  std::memset(held.data(), 1, held.size());
  EXPECT_GE(resident_bytes() - before, int64_t{60} << 20);
}

}  // namespace
}  // namespace galvatron::measure
