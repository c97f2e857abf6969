// Jobs over workers: every worker gets every answer, and every error.
#include "search/deal.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "core/errors.hpp"
#include "support/worker_threads.hpp"

namespace galvatron::search {
namespace {

TEST(Deal, AllGetAllAnswers) {
  for (int workers : {1, 2, 3, 5})
    for (size_t count : {size_t{0}, size_t{1}, size_t{7}}) {
      std::mutex guard;
      std::vector<std::vector<std::string>> seen;
      test::on_workers(workers, [&](core::WorkQueue& queue) {
        auto answers =
            deal(queue, count, [](size_t i) { return i == 3 ? std::string() : "job " + std::to_string(i); });
        const std::lock_guard lock(guard);
        seen.push_back(std::move(answers));
      });
      ASSERT_EQ(static_cast<int>(seen.size()), workers);
      for (const auto& answers : seen) {
        ASSERT_EQ(answers.size(), count);
        for (size_t i = 0; i < count; ++i) EXPECT_EQ(answers[i], i == 3 ? "" : "job " + std::to_string(i));
      }
    }
}

TEST(Deal, AnErrorReachesEveryWorker) {
  std::mutex guard;
  std::vector<std::string> texts;
  test::on_workers(3, [&](core::WorkQueue& queue) {
    try {
      deal(queue, 8, [](size_t i) -> std::string {
        if (i >= 4) throw core::UserError(core::ExitCode::no_plan, "job " + std::to_string(i) + "\nfailed");
        return "fine";
      });
    } catch (const core::UserError& error) {
      const std::lock_guard lock(guard);
      texts.push_back(std::string(error.what()) + "/" + std::to_string(static_cast<int>(error.code())));
    }
  });
  EXPECT_EQ(texts, (std::vector<std::string>(3, "job 4 failed/4")));
}

}  // namespace
}  // namespace galvatron::search
