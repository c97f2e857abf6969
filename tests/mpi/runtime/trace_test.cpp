// trace.json of a run says what the schedule says, on every rank, on one clock.

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/clock.hpp"
#include "support/plan_job.hpp"
#include "support/trainer_job.hpp"

namespace galvatron::testing {
namespace {

using nlohmann::json;

constexpr int64_t micros = 3;
constexpr int64_t traced_steps = 2;

class Trace : public PlanJob {
 protected:
  /// Trains a few steps in a pipeline over all ranks; the trace's events, on rank 0.
  std::vector<json> events_of(plan::ScheduleKind schedule) {
    deck::DeckValues deck;
    deck.run.trace = traced_steps;
    deck.train.steps = 4;
    deck.train.warmup = 1;
    deck.train.eval_every = 2;
    deck.checkpoint.every = 0;
    const auto model = variant_model({});
    auto plan = uniform_plan(model, world().size(), 1, 1, 0, spec::Recompute::none, 6, micros);
    plan.schedule = schedule;
    TrainerJob trainer(world(), deck, model, plan);
    runtime::train(trainer.job());
    if (world().rank() != 0) return {};
    std::ifstream in(trainer.paths().trace());
    const auto file = json::parse(in);
    error_micros_ = std::stod(file["otherData"]["clock_error_us"].get<std::string>());
    return file["traceEvents"].get<std::vector<json>>();
  }

  double error_micros_ = 0;
};

std::string where(const json& event) {
  return "rank " + std::to_string(event["pid"].get<int>()) + ": " + event.dump();
}

/// Per thread, slices begin in order and lie in the one they began in, or after it.
void expect_nested(const std::vector<json>& events) {
  std::map<std::pair<int, int>, std::vector<double>> open;
  for (const auto& event : events) {
    if (event["ph"] != "X") continue;
    auto& ends = open[{event["pid"], event["tid"]}];
    const double begin = event["ts"], end = begin + event["dur"].get<double>();
    constexpr double rounding = 1e-4;  // decimal texts of nanoseconds, added up
    while (!ends.empty() && ends.back() <= begin + rounding) ends.pop_back();
    EXPECT_GE(event["dur"].get<double>(), 0.0) << where(event);
    EXPECT_TRUE(ends.empty() || end <= ends.back() + rounding) << where(event);
    ends.push_back(end);
  }
}

/// Slices per rank whose name begins with `word`.
std::map<int, int> count(const std::vector<json>& events, const std::string& word) {
  std::map<int, int> found;
  for (const auto& event : events)
    if (event["ph"] == "X" && event["name"].get<std::string>().starts_with(word)) ++found[event["pid"]];
  return found;
}

TEST_F(Trace, HoldsEveryActionOfEveryRank) {
  for (const auto schedule : {plan::ScheduleKind::one_f_one_b, plan::ScheduleKind::gpipe}) {
    const auto events = events_of(schedule);
    if (world().rank() != 0) continue;
    expect_nested(events);
    for (int rank = 0; rank < world().size(); ++rank) {
      SCOPED_TRACE("rank " + std::to_string(rank) + ", " + std::string(plan::name_of(schedule)));
      EXPECT_EQ(count(events, "step ")[rank], traced_steps);
      EXPECT_EQ(count(events, "forward ")[rank], traced_steps * micros);
      EXPECT_EQ(count(events, "backward ")[rank], traced_steps * micros);
      EXPECT_EQ(count(events, "optimizer")[rank], traced_steps);
      EXPECT_EQ(count(events, "evaluate")[rank] > 0, true);
      EXPECT_EQ(count(events, "checkpoint")[rank], 1);
      const auto named = std::count_if(events.begin(), events.end(), [&](const json& e) {
        return e["name"] == "process_name" && e["pid"] == rank &&
               e["args"]["name"].get<std::string>().starts_with("rank " + std::to_string(rank) + " on host ");
      });
      EXPECT_EQ(named, 1);
    }
  }
}

TEST_F(Trace, EveryMessageEndsAfterItBegan) {
  const auto events = events_of(plan::ScheduleKind::one_f_one_b);
  if (world().rank() != 0) return;
  std::map<std::string, double> sent, received;
  for (const auto& event : events) {
    if (event["ph"] == "s") sent[event["id"]] = event["ts"];
    if (event["ph"] == "f") received[event["id"]] = event["ts"];
  }
  EXPECT_EQ(sent.size(), 2u * micros * traced_steps * (world().size() - 1));
  EXPECT_EQ(sent.size(), received.size());
  for (const auto& [id, begin] : sent) {
    ASSERT_TRUE(received.contains(id)) << "message " << id << " never arrives";
    EXPECT_GE(received[id] + 2 * error_micros_, begin) << "message " << id << " arrives before it was sent";
  }
}

TEST_F(Trace, ClocksOfOneHostAgree) {
  if (world().nodes() > 1) GTEST_SKIP() << "more than one host";
  std::vector<int> ranks;
  for (int rank = 0; rank < world().size(); ++rank) ranks.push_back(rank);
  const auto all = world().make_communicator(ranks, comm::TrafficClass::layer);
  const auto reading = runtime::read_clock(*all);
  EXPECT_LE(std::abs(reading.offset), reading.error) << "rank " << world().rank();
}

TEST(ClockLine, FollowsADrift) {
  const runtime::ClockLine line({100.0, 5.0, 1e-6}, {200.0, 5.1, 2e-6});
  EXPECT_DOUBLE_EQ(line(100.0), 105.0);
  EXPECT_DOUBLE_EQ(line(200.0), 205.1);
  EXPECT_DOUBLE_EQ(line(150.0), 155.05);
  EXPECT_DOUBLE_EQ(line.error(), 2e-6);
  const runtime::ClockLine near({100.0, 5.0, 1e-6}, {100.5, 5.1, 2e-6});
  EXPECT_DOUBLE_EQ(near(0.0), 5.1) << "two readings that are too close make no line";
}

TEST(TraceLane, KeepsTheLastSlices) {
  runtime::TraceLane lane(3);
  for (int i = 0; i < 5; ++i)
    lane.put({.begin = 1.0 * i, .end = i + 0.5, .kind = runtime::TraceKind::step, .micro = i});
  lane.record(false);
  lane.put({.begin = 9, .end = 10, .micro = 9});
  const auto kept = lane.slices();
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept.front().micro, 2);
  EXPECT_EQ(kept.back().micro, 4);
  EXPECT_TRUE(lane.full());
}

}  // namespace
}  // namespace galvatron::testing
