// Metrics come back bit for bit, and a resume cuts exactly what it will write again.
#include "store/metrics.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "store/file.hpp"
#include "support/folder.hpp"

namespace galvatron::store {
namespace {

TEST(Metrics, NumbersSurviveTheText) {
  const double loss = 1.0 / 3.0 + 1e-16;
  MetricsLine line(7);
  line.exact("loss", loss)
      .number("lr", 3e-3)
      .integer("tokens", int64_t{1} << 60)
      .text("stopped", "a \"b\"\n\xff");
  line.number("bad", std::nan("")).exact("worse", -INFINITY);
  const auto json = nlohmann::json::parse(line.json());
  EXPECT_EQ(json["step"], 7);
  EXPECT_EQ(json["loss"].get<double>(), loss);
  EXPECT_EQ(std::strtod(json["loss_hex"].get<std::string>().c_str(), nullptr), loss);
  EXPECT_EQ(json["lr"].get<double>(), 3e-3);
  EXPECT_EQ(json["tokens"].get<int64_t>(), int64_t{1} << 60);
  EXPECT_TRUE(json["bad"].is_null());
  EXPECT_TRUE(json["worse"].is_null());
  EXPECT_EQ(json["worse_hex"], "-inf");
}

TEST(Metrics, WhatIsLearnedLaterJoinsTheLineOfItsStep) {
  const test::Folder folder;
  const auto path = folder.path() / "metrics.jsonl";
  amend_metrics(path, 1, MetricsLine(1).number("late", 4.0));  // there is no file: the line is its first
  EXPECT_EQ(folder.read("metrics.jsonl"), "{\"step\": 1, \"late\": 4}\n");
  MetricsFile(path).append(MetricsLine(2).number("loss", 1.0));
  amend_metrics(path, 2, MetricsLine(2).exact("late", 0.5));
  amend_metrics(path, 3, MetricsLine(3).number("late", 5.0));  // the last line is of another step
  EXPECT_EQ(
      folder.read("metrics.jsonl"),
      "{\"step\": 1, \"late\": 4}\n{\"step\": 2, \"loss\": 1, \"late\": 0.5, \"late_hex\": \"0x1p-1\"}\n"
      "{\"step\": 3, \"late\": 5}\n");
}

TEST(Metrics, LinesWaitWhileTheDiskIsFull) {
  const test::Folder folder;
  const auto path = folder.path() / "metrics.jsonl";
  const auto before_signal = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto line = [](int64_t step) { return MetricsLine(step).json() + "\n"; };
  {
    MetricsFile file(path);
    file.append(MetricsLine(1));
    const rlimit full{static_cast<rlim_t>(line(1).size() + 3), before.rlim_max};  // a part of a line fits
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
    EXPECT_THROW(file.append(MetricsLine(2)), DiskError);
    EXPECT_THROW(file.append(MetricsLine(3)), DiskError);
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(folder.read("metrics.jsonl"), line(1)) << "no part of a line is left";
    file.append(MetricsLine(4));
    EXPECT_EQ(folder.read("metrics.jsonl"), line(1) + line(2) + line(3) + line(4));
    ::setrlimit(RLIMIT_FSIZE, &full);
    EXPECT_THROW(file.append(MetricsLine(5)), DiskError);
    ::setrlimit(RLIMIT_FSIZE, &before);
  }
  EXPECT_EQ(folder.read("metrics.jsonl"), line(1) + line(2) + line(3) + line(4) + line(5))
      << "asked a last time";
  ::signal(SIGXFSZ, before_signal);
}

TEST(Metrics, TheTailBehindAStepIsCutAndKept) {
  const test::Folder folder;
  const auto path = folder.path() / "metrics.jsonl";
  {
    MetricsFile file(path);
    for (int64_t step = 10; step <= 40; step += 10) file.append(MetricsLine(step).number("loss", 1.0));
  }
  const auto whole = folder.read("metrics.jsonl");
  EXPECT_TRUE(truncate_metrics(path, 40).empty());
  EXPECT_EQ(folder.read("metrics.jsonl"), whole);
  EXPECT_EQ(truncate_metrics(path, 25), folder.path() / "metrics-cut-1.jsonl");
  EXPECT_EQ(folder.read("metrics.jsonl") + folder.read("metrics-cut-1.jsonl"), whole);
  EXPECT_EQ(folder.read("metrics.jsonl"), "{\"step\": 10, \"loss\": 1}\n{\"step\": 20, \"loss\": 1}\n");
  EXPECT_EQ(truncate_metrics(path, 0), folder.path() / "metrics-cut-2.jsonl");
  EXPECT_EQ(folder.read("metrics.jsonl"), "");
  EXPECT_TRUE(truncate_metrics(folder.path() / "absent.jsonl", 0).empty());
}

TEST(Metrics, ATornLastLineGoesWithTheTail) {
  const test::Folder folder;
  const auto path = folder.write("metrics.jsonl", "{\"step\": 1}\n{\"step\": 2, \"lo");
  EXPECT_EQ(truncate_metrics(path, 100), folder.path() / "metrics-cut-1.jsonl");
  EXPECT_EQ(folder.read("metrics.jsonl"), "{\"step\": 1}\n");
  EXPECT_EQ(folder.read("metrics-cut-1.jsonl"), "{\"step\": 2, \"lo");
}

}  // namespace
}  // namespace galvatron::store
