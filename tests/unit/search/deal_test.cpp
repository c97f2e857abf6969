// Jobs over workers: every worker gets every answer, and every error.
#include "search/deal.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "core/errors.hpp"
#include "support/keeping_queue.hpp"
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

/// Attempts of changing numbers of workers, each stopped by one of them, until two rounds are through.
TEST(Deal, StoppedRoundsGoOnWhereTheyWere) {
  constexpr size_t count = 9;
  for (int stop_after : {1, 2, 3}) {
    std::vector<std::string> kept, answers;
    std::vector<int> done(2 * count);
    int attempts = 0;
    for (int stopped = 1; stopped != 0 && attempts < 100; ++attempts) {
      const int workers = 1 + attempts % 3, stopper = attempts % workers;
      std::vector<std::vector<std::string>> known(static_cast<size_t>(workers), kept);
      std::mutex guard;
      stopped = 0;
      test::on_workers(workers, [&](core::WorkQueue& inner) {
        const int me = inner.worker();
        test::KeepingQueue queue(inner, known[static_cast<size_t>(me)],
                                 me == stopper ? stop_after : test::KeepingQueue::never);
        std::vector<std::string> mine;
        try {
          for (size_t round = 0; round < 2; ++round)
            for (const auto& answer : deal(queue, count, [&](size_t i) {
                   const std::lock_guard lock(guard);
                   ++done[round * count + i];
                   return std::to_string(100 * round + i);
                 }))
              mine.push_back(answer);
        } catch (const Stopped&) {
          const std::lock_guard lock(guard);
          ++stopped;
        }
        const std::lock_guard lock(guard);
        answers = mine;
      });
      EXPECT_TRUE(stopped == 0 || stopped == workers) << stopped << " of " << workers << " workers stopped";
      for (const auto& one : known) EXPECT_EQ(one, known.front()) << "all know the same";
      kept = known.front();
    }
    // A single worker that stops at its first look gets nowhere, but it takes turns with two and three.
    EXPECT_GT(attempts, 2) << stop_after;
    ASSERT_EQ(answers.size(), 2 * count) << stop_after;
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(answers[i], std::to_string(i));
      EXPECT_EQ(answers[count + i], std::to_string(100 + i));
      EXPECT_EQ(done[i], 1) << "job " << i << " was done again";
      EXPECT_EQ(done[count + i], 1) << "job " << count + i << " was done again";
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
