// Suggestions help with typing errors and stay silent about other words.
#include "deck/suggest.hpp"

#include <gtest/gtest.h>

namespace galvatron::deck {
namespace {

TEST(Suggest, FindsWhatWasMeant) {
  const std::vector<std::string> keys = {"steps", "stop_after", "lr", "warmup", "weight_decay"};
  EXPECT_EQ(nearest("stepz", keys), "steps");
  EXPECT_EQ(nearest("setps", keys), "steps") << "swapped letters are one error";
  EXPECT_EQ(nearest("Weight-Decay", keys), "weight_decay");
  EXPECT_EQ(nearest("warm_up", keys), "warmup");
  EXPECT_EQ(nearest("lrr", keys), "lr");
}

TEST(Suggest, IsSilentAboutOtherWords) {
  const std::vector<std::string> keys = {"steps", "lr", "io"};
  EXPECT_EQ(nearest("colour", keys), "");
  EXPECT_EQ(nearest("xy", keys), "");
  EXPECT_EQ(nearest("", keys), "");
  EXPECT_EQ(nearest(std::string(5000, 's'), keys), "");
}

}  // namespace
}  // namespace galvatron::deck
