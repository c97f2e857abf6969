// The background thread: order, exceptions, endings. Races are looked for by repetition and, in the tsan
// build, by the tool.
#include "comm/background.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace galvatron::comm {
namespace {

TEST(Background, RunsTasksInTheOrderOfSubmission) {
  Background background(8);  // smaller than the number of tasks: submit has to wait for places
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) background.submit([&order, i] { order.push_back(i); });
  background.drain();
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(Background, UsesOneOtherThread) {
  Background background;
  std::vector<std::thread::id> threads(2);
  background.submit([&] { threads[0] = std::this_thread::get_id(); });
  background.drain();
  background.submit([&] { threads[1] = std::this_thread::get_id(); });
  background.drain();
  EXPECT_NE(threads[0], std::this_thread::get_id());
  EXPECT_EQ(threads[0], threads[1]);
}

TEST(Background, WaitReturnsAfterItsTaskAndDoesNotNeedLaterOnes) {
  Background background;
  std::promise<void> gate;
  bool first = false;
  const auto ticket = background.submit([&] { first = true; });
  const auto later = background.submit([opened = gate.get_future().share()] { opened.wait(); });
  background.wait(ticket);
  EXPECT_TRUE(first);
  EXPECT_TRUE(background.finished(ticket));
  EXPECT_FALSE(background.finished(later));
  gate.set_value();
  background.wait(later);
  EXPECT_TRUE(background.finished(later));
}

TEST(Background, LosesNoWakeUp) {
  Background background(2);
  int64_t sum = 0;
  for (int64_t i = 0; i < 20000; ++i) {
    const auto ticket = background.submit([&sum, i] { sum += i; });
    if (i % 3 == 0) background.wait(ticket);
  }
  background.drain();
  EXPECT_EQ(sum, int64_t{20000} * 19999 / 2);
}

TEST(Background, AnExceptionIsThrownAgainOnceAndStopsWhatIsBehindIt) {
  Background background;
  std::promise<void> gate;
  int ran = 0;
  const auto good = background.submit([&] { ++ran; });
  background.submit([opened = gate.get_future().share()] {
    opened.wait();
    throw std::runtime_error("link down");
  });
  const auto behind = background.submit([&] { ran += 100; });
  background.wait(good);
  gate.set_value();
  try {
    background.wait(behind);
    FAIL() << "the exception was lost";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "link down");
  }
  background.drain();
  EXPECT_EQ(ran, 1);
  background.submit([&] { ++ran; });
  background.drain();
  EXPECT_EQ(ran, 2) << "the queue goes on after the exception was taken";
}

TEST(Background, AWaitForAnEarlierTaskTellsOfALaterFailureToo) {
  Background background;
  const auto ticket = background.submit([] {});
  const auto failing = background.submit([] { throw std::runtime_error("late"); });
  while (!background.finished(failing)) std::this_thread::yield();
  EXPECT_THROW(background.wait(ticket), std::runtime_error);
  background.wait(ticket);
}

TEST(Background, ItsEndWaitsForAllTasks) {
  std::atomic<int> ran = 0;
  {
    Background background;
    for (int i = 0; i < 50; ++i) background.submit([&ran] { ++ran; });
  }
  EXPECT_EQ(ran, 50);
}

TEST(Background, WithoutTasksItHasNoThreadToEnd) {
  const Background background;
  EXPECT_FALSE(background.finished(0));
}

TEST(Background, UnwindingLeavesATaskThatDoesNotEndAndDropsTheOthers) {
  std::atomic<int> ran = 0;
  const auto held = std::make_shared<int>(0);
  std::promise<void> begun, gate;
  auto leave = [&] {
    Background background(16, 0.01);
    background.submit([&begun, &ran, held, opened = gate.get_future().share()] {
      begun.set_value();
      opened.wait();
      ++ran;
    });
    for (int i = 0; i < 10; ++i) background.submit([&ran, held] { ran += 100; });
    begun.get_future().wait();
    throw std::runtime_error("this rank failed");
  };
  EXPECT_THROW(leave(), std::runtime_error);
  EXPECT_EQ(ran, 0);
  gate.set_value();
  while (held.use_count() > 1) std::this_thread::yield();  // the thread lets go of its last task
  EXPECT_EQ(ran, 1);
}

TEST(Background, UnwindingWaitsForATaskThatEnds) {
  std::atomic<bool> leaving = false, ended = false;
  std::promise<void> begun;
  auto leave = [&] {
    Background background(16, 60.0);
    background.submit([&] {
      begun.set_value();
      while (!leaving) std::this_thread::yield();
      ended = true;
    });
    begun.get_future().wait();
    leaving = true;
    throw std::runtime_error("this rank failed");
  };
  EXPECT_THROW(leave(), std::runtime_error);
  EXPECT_TRUE(ended) << "the end did not wait";
}

TEST(Background, WhatATaskHoldsEndsWithTheTask) {
  Background background;
  auto held = std::make_shared<int>(7);
  background.submit([held] {});
  background.drain();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace galvatron::comm
