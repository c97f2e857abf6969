// The report of ranks in trouble: exactly one of them is first, and all lines are there.
#include "comm/report_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "comm/dry/dry_world.hpp"
#include "comm/failure.hpp"
#include "comm/watchdog.hpp"
#include "core/errors.hpp"

namespace galvatron::comm {
namespace {

class Report : public testing::Test {
 protected:
  std::filesystem::path folder;

  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("galvatron-report-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
};

TEST_F(Report, OneOfManyRanksIsFirstAndNoLineIsLost) {
  const ReportFile file(folder / "report.txt");
  std::atomic<int> firsts = 0;
  {
    std::vector<std::jthread> ranks;
    for (int r = 0; r < 12; ++r)
      ranks.emplace_back(
          [&, r] { firsts += file.add(r, "here", "line one\nline two") == Claim::first ? 1 : 0; });
  }
  EXPECT_EQ(firsts, 1);
  const auto entries = file.entries();
  ASSERT_EQ(entries.size(), 12u);
  for (int r = 0; r < 12; ++r)
    EXPECT_EQ(entries[static_cast<size_t>(r)],
              "rank " + std::to_string(r) + " on here: line one\n  line two");
}

TEST_F(Report, WithoutAFolderEveryRankSpeaks) {
  const ReportFile file(folder / "missing" / "report.txt");
  EXPECT_EQ(file.add(0, "here", "x"), Claim::first);
  EXPECT_EQ(file.add(1, "here", "y"), Claim::first);
  EXPECT_TRUE(file.entries().empty());
}

TEST_F(Report, TheFirstFailingRankPrintsItsMessageAndTheOthers) {
  const auto world = make_dry_world(1, 2, 1);
  std::vector<std::string> printed;
  const FailureReport report(*world, folder, [&](const std::string& text) {
    printed.push_back(text);
    // The other rank comes while the first one waits.
    if (printed.size() == 1) ReportFile(folder / failure_file).add(0, "node0", "me too");
  });
  try {
    report.end_job(core::ExitCode::data, "read error");
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ExitCode::data);  // how the dry world aborts
  }
  EXPECT_EQ(printed,
            (std::vector<std::string>{"rank 1 on node0: read error", "also rank 0 on node0: me too"}));
}

TEST_F(Report, AWatchdogThatIsOffStartsNothingAndTakesPats) {
  const auto world = make_dry_world(0, 1, 1);
  Watchdog watchdog(*world, folder, 0.0, [](const std::string&) { FAIL() << "the watchdog spoke"; });
  for (int i = 0; i < 1000; ++i) watchdog.pat(std::string(1000, 'x'));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace
}  // namespace galvatron::comm
