// The budget on a pretended clock and a world of one.
#include "measure/budget.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.hpp"

namespace galvatron::measure {
namespace {

/// One rank; `others` is what a slower rank would bring to each reduction.
class LonelyWorld final : public comm::World {
 public:
  double others = 0;

  int rank() const override { return 0; }
  int size() const override { return 1; }
  int node() const override { return 0; }
  int nodes() const override { return 1; }
  int local_rank() const override { return 0; }
  int local_size() const override { return 1; }
  int node_of(int) const override { return 0; }
  const std::string& host_of(int) const override { return host_; }
  std::string broadcast(std::string text, int) override { return text; }
  std::vector<std::string> all_gather(const std::string& text) override { return {text}; }
  std::vector<double> all_gather(double value) override { return {value}; }
  std::vector<int64_t> all_gather(int64_t value) override { return {value}; }
  void all_reduce(std::span<double> values, comm::ReduceOp) override {
    values[0] = std::max(values[0], others);
  }
  void all_reduce(std::span<int64_t>, comm::ReduceOp) override {}
  void barrier() override {}
  std::unique_ptr<comm::Communicator> make_communicator(const std::vector<int>&, comm::TrafficClass,
                                                        const core::FormTable&) override {
    return nullptr;
  }
  std::unique_ptr<comm::World> twin() override { return std::make_unique<LonelyWorld>(); }
  [[noreturn]] void abort(int) override { throw core::InternalError("abort"); }

 private:
  std::string host_ = "host";
};

struct Bench {
  LonelyWorld world;
  double time = 100;
  bool stop = false;
  int looks = 0;
  BudgetHooks hooks() {
    return {[this] { return time; }, [this] { return stop; }, [this](const std::string&) { ++looks; }};
  }
};

TEST(Budget, SharesWhatIsLeft) {
  Bench b;
  Budget budget(b.world, 60, b.hooks());
  budget.begin("links", 0.5);
  EXPECT_DOUBLE_EQ(budget.left(), 30);
  b.time += 10;
  EXPECT_DOUBLE_EQ(budget.left(), 20);
  budget.end(3, 3, "pairs");
  budget.begin("layers", 1.0);
  EXPECT_DOUBLE_EQ(budget.left(), 50) << "what links left over goes to layers";
  b.time += 51;
  EXPECT_TRUE(budget.spent());
  budget.end(1, 2, "steps");
  const std::vector<Coverage> expected = {{"links", 30, 10, 3, 3, "pairs"},
                                          {"layers", 50, 51, 1, 2, "steps"}};
  EXPECT_EQ(budget.coverage(), expected);
}

TEST(Budget, TheSlowestRankDecides) {
  Bench b;
  Budget budget(b.world, 60, b.hooks());
  budget.begin("links", 1.0);
  b.world.others = 61;
  EXPECT_TRUE(budget.spent());
}

TEST(Budget, AStopRequestEndsEveryPhase) {
  Bench b;
  Budget budget(b.world, 60, b.hooks());
  budget.begin("links", 0.5);
  EXPECT_FALSE(budget.spent());
  b.stop = true;
  EXPECT_TRUE(budget.spent());
  b.stop = false;
  budget.begin("layers", 1.0);
  EXPECT_TRUE(budget.spent()) << "a request once made stays";
  EXPECT_TRUE(budget.stopped());
}

TEST(Budget, TellsTheWatchdog) {
  Bench b;
  Budget budget(b.world, 60, b.hooks());
  budget.begin("links", 0.5);
  const int looks = b.looks;
  (void)budget.left();
  EXPECT_EQ(b.looks, looks + 1);
}

TEST(Budget, SavesOnceWhenAnyRankWasAsked) {
  Bench b;
  auto hooks = b.hooks();
  bool asked = false;
  int saves = 0;
  hooks.save_requested = [&] { return std::exchange(asked, false); };
  hooks.save = [&] { ++saves; };
  Budget budget(b.world, 60, hooks);
  budget.begin("links", 1.0);
  EXPECT_EQ(saves, 0);
  asked = true;
  EXPECT_GT(budget.left(), 0) << "a save does not stop";
  EXPECT_GT(budget.left(), 0);
  EXPECT_EQ(saves, 1);
}

TEST(Budget, TellsHowFarAndHowLongNowAndThen) {
  Bench b;
  auto hooks = b.hooks();
  std::vector<std::string> lines;
  hooks.progress = [&](const std::string& line) { lines.push_back(line); };
  hooks.progress_seconds = 5;
  Budget budget(b.world, 60, hooks);
  budget.begin("collectives", 1.0);
  budget.note(3, 64, "points");
  (void)budget.left();
  EXPECT_TRUE(lines.empty()) << "too early";
  b.time += 6;
  (void)budget.left();
  (void)budget.left();
  ASSERT_EQ(lines.size(), 1u) << "once in five seconds";
  EXPECT_EQ(lines[0], "collectives: 3 of 64 points; at most 54.0 s left");
}

TEST(Budget, AnOverdrawnPhaseLeavesNothingNegative) {
  Bench b;
  Budget budget(b.world, 10, b.hooks());
  b.time += 25;
  budget.begin("late", 1.0);
  EXPECT_TRUE(budget.spent());
  EXPECT_DOUBLE_EQ(budget.left(), 0);
}

TEST(Budget, CoverageIsReadable) {
  const auto text = coverage_text({{"links", 12, 5, 12, 12, "pairs"}});
  for (const char* part : {"links", "5.00 s", "12.0 s", "12 of 12 pairs"})
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is missing in: " << text;
}

}  // namespace
}  // namespace galvatron::measure
