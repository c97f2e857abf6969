// Each kind of exception becomes its exit code and one text.
#include "app/failure.hpp"

#include <gtest/gtest.h>

#include <new>

namespace galvatron::app {
namespace {

template <typename E>
Failure failure_of(const E& error, int world_size = 4) {
  return describe(std::make_exception_ptr(error), world_size);
}

TEST(Failure, UsageErrorsStandAsTheyAre) {
  const Failure f = failure_of(core::UserError("d.toml:3: [train] x"), 1);
  EXPECT_EQ(f.code, core::ExitCode::usage);
  EXPECT_EQ(f.text, "d.toml:3: [train] x");
  EXPECT_EQ(f.reach, Reach::agreed) << "one rank always agrees with itself";
}

TEST(Failure, OthersSayWhoSpeaks) {
  EXPECT_EQ(failure_of(core::UserError(core::ExitCode::data, "no text")).text, "galvatron: no text");
  EXPECT_EQ(failure_of(core::ResourceError("no room")).code, core::ExitCode::out_of_memory);
  EXPECT_EQ(failure_of(core::ResourceError("no room")).reach, Reach::local);
  EXPECT_EQ(failure_of(std::bad_alloc()).code, core::ExitCode::out_of_memory);
  EXPECT_EQ(failure_of(std::runtime_error("odd")).text, "galvatron: internal error: odd");
  EXPECT_EQ(failure_of(7).code, core::ExitCode::internal);
}

TEST(Failure, AnAgreedErrorNamesTheRankUnlessAllRanksFailedAlike) {
  using core::AgreedError;
  const auto code = core::ExitCode::data;
  EXPECT_EQ(failure_of(AgreedError(code, 2, "n1", "gone", 1)).text,
            "galvatron: rank 2 on n1: gone (and 1 more)");
  EXPECT_EQ(failure_of(AgreedError(code, 0, "n1", "gone", 3)).text, "galvatron: gone");
  EXPECT_EQ(failure_of(AgreedError(code, 0, "n1", "gone", 3)).reach, Reach::agreed);
}

}  // namespace
}  // namespace galvatron::app
