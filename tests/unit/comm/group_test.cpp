// Names of groups and the refusal of malformed ones.
#include "comm/group.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace galvatron::comm {
namespace {

TEST(RankText, ShortensRunsOfThreeAndMore) {
  EXPECT_EQ(rank_text({}), "");
  EXPECT_EQ(rank_text({4}), "4");
  EXPECT_EQ(rank_text({0, 1}), "0,1");
  EXPECT_EQ(rank_text({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(rank_text({0, 2, 4}), "0,2,4");
  EXPECT_EQ(rank_text({3, 2, 1}), "3,2,1");
  EXPECT_EQ(rank_text({0, 1, 5, 6, 7}), "0,1,5-7");
}

TEST(Group, KnowsItsNameAndThePlaceOfTheRank) {
  const auto group = make_group({3, 1}, TrafficClass::pipeline, 1, 4);
  EXPECT_EQ(group.name, "pipeline 3,1");
  EXPECT_EQ(group.index, 1);
}

TEST(Group, RefusesStrangersRepeatsAndRanksOutside) {
  EXPECT_THROW(make_group({0, 1}, TrafficClass::layer, 2, 4), core::InternalError);
  EXPECT_THROW(make_group({0, 1, 0}, TrafficClass::layer, 0, 4), core::InternalError);
  EXPECT_THROW(make_group({0, 4}, TrafficClass::layer, 0, 4), core::InternalError);
  EXPECT_THROW(make_group({-1, 0}, TrafficClass::layer, 0, 4), core::InternalError);
  EXPECT_THROW(make_group({}, TrafficClass::layer, 0, 4), core::InternalError);
}

}  // namespace
}  // namespace galvatron::comm
