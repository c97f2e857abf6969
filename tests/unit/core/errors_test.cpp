// Errors carry their facts and their exit code; assertions print their operands.
#include "core/errors.hpp"

#include <gtest/gtest.h>

#include "core/shape.hpp"

namespace galvatron::core {
namespace {

template <typename E, typename Body>
std::string text_of(Body body) {
  try {
    body();
  } catch (const E& error) {
    return error.what();
  }
  return "(nothing thrown)";
}

TEST(Errors, HaveTheDocumentedCodes) {
  EXPECT_EQ(UserError("x").code(), ExitCode::usage);
  EXPECT_EQ(UserError(ExitCode::data, "x").code(), ExitCode::data);
  EXPECT_EQ(ResourceError("x").code(), ExitCode::out_of_memory);
  EXPECT_EQ(InternalError("x").code(), ExitCode::internal);
  EXPECT_EQ(static_cast<int>(ExitCode::requeue), 75);
}

TEST(Errors, AnAgreedErrorNamesRankHostAndHowManyMore) {
  const AgreedError error(ExitCode::out_of_memory, 5, "node3", "no room for 3 GiB", 2);
  EXPECT_STREQ(error.what(), "rank 5 on node3: no room for 3 GiB (and 2 more)");
  EXPECT_EQ(error.rank(), 5);
  EXPECT_EQ(error.others(), 2);
  EXPECT_STREQ(AgreedError(ExitCode::data, 0, "a", "b", 0).what(), "rank 0 on a: b");
}

TEST(Errors, AnInternalErrorNamesItsPlace) {
  const std::string text = text_of<InternalError>([] { throw InternalError("lost"); });
  EXPECT_EQ(text.find("lost [tests/unit/core/errors_test.cpp:"), 0U) << text;
}

TEST(Assertions, PrintConditionAndOperands) {
  const int64_t rows = 3;
  const Shape shape = {2, 4};
  const std::string text =
      text_of<InternalError>([&] { GALV_ASSERT(rows == shape.dim(0), rows, shape, "name", 0.5, true); });
  EXPECT_EQ(text.find("does not hold: rows == shape.dim(0) with (rows, shape, \"name\", 0.5, true) = "
                      "(3, [2, 4], \"name\", 0.5, true) [tests/"),
            0U)
      << text;
}

TEST(Assertions, WorkWithoutOperandsAndLeaveTrueOnesAlone) {
  EXPECT_EQ(text_of<InternalError>([] { GALV_ASSERT(1 < 0); }).find("does not hold: 1 < 0 [tests/"), 0U);
  int evaluated = 0;
  GALV_ASSERT(true, ++evaluated);
  EXPECT_EQ(evaluated, 0) << "operands must cost nothing while the condition holds";
}

TEST(Assertions, HotOnesFollowTheBuildType) {
  const std::string text = text_of<InternalError>([] { GALV_ASSERT_HOT(1 < 0, 7); });
  if (GALVATRON_HOT_CHECKS) {
    EXPECT_NE(text.find("(7)"), std::string::npos) << text;
  } else {
    EXPECT_EQ(text, "(nothing thrown)");
  }
}

}  // namespace
}  // namespace galvatron::core
