// RESULT lines split at blanks and their numbers read back to the same bits.
#include "app/result.hpp"

#include <gtest/gtest.h>

namespace galvatron::app {
namespace {

TEST(Result, KeepsOrderReplacesAndEscapesBlanks) {
  Result result;
  result.set("steps", int64_t{200});
  result.set("loss", 0.1);
  result.set("stopped", "by the user");
  result.set("steps", int64_t{20});
  EXPECT_EQ(result.line("run", 0),
            "RESULT verb=run steps=20 loss=0.10000000000000001 stopped=by_the_user exit=0\n");
}

}  // namespace
}  // namespace galvatron::app
