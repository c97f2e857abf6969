// Plan files with hostile numbers, keys and lines: each ends in a UserError that names the file, or in a plan
// that is legal, says the same when written again, and can be lowered. Never in a crash, and never late.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "plan/by_hand.hpp"
#include "plan/lowering.hpp"
#include "plan/plan.hpp"
#include "support/models.hpp"

namespace galvatron::plan {
namespace {

const spec::ModelSpec model = test::small_model(3);
const program::NoWorkspace no_workspace;

Plan plan_of(const UniformPlan& wish) {
  Plan plan = plan_by_hand(wish, model);
  const auto ranks = static_cast<size_t>(plan.pipeline_ranks());
  plan.predictions.assign(ranks, {.forward_seconds = 0.25,
                                  .backward_seconds = 0.5,
                                  .step_seconds = 1,
                                  .memory_bytes = 4096,
                                  .time_terms = {{"forward gemm", 1e-3}},
                                  .memory_terms = {{"saved", 12}}});
  plan.forms = {{2, 1, 2, {core::CollectiveKind::all_reduce, 65536, core::Form::shared}}};
  return plan;
}

std::vector<std::string> good_files() {
  UniformPlan wish;
  wish.world = 4;
  wish.batch = 8;
  std::vector<std::string> files = {to_toml(plan_of(wish), model)};
  wish.pp = 2;
  wish.zero = 1;
  wish.microbatches = 4;
  wish.placement = Placement::stage_minor;
  files.push_back(to_toml(plan_of(wish), model));
  wish.schedule = ScheduleKind::interleaved;
  wish.virtual_stages = 2;
  files.push_back(to_toml(plan_of(wish), model));
  return files;
}

/// What became of the texts.
struct Outcomes {
  int64_t refused = 0, legal = 0;
  double slowest = 0;  ///< seconds
};

void read(const std::string& text, Outcomes& outcomes) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    const Plan plan = plan_from_toml(text, "some/plan.toml", model);
    ++outcomes.legal;
    ASSERT_TRUE(faults_of(plan, model, plan.world).empty()) << text;
    const std::string again = to_toml(plan, model);
    EXPECT_EQ(plan_from_toml(again, "again.toml", model), plan) << text;
    // Playing it takes what its numbers say, which is not the reader's fault.
    if (plan.microbatches <= 64 && plan.world <= 64)
      for (int64_t rank = 0; rank < plan.world; ++rank)
        EXPECT_GE(lower_stage(plan, model, rank, core::DType::f32, no_workspace).arena.total(), 0) << text;
  } catch (const core::UserError& error) {
    ++outcomes.refused;
    EXPECT_NE(std::string(error.what()).find("some/plan.toml"), std::string::npos) << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not a UserError: " << error.what() << "\n" << text;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  outcomes.slowest = std::max(outcomes.slowest, took.count());
}

/// Where the numbers of the text begin and end.
std::vector<std::pair<size_t, size_t>> numbers_in(const std::string& text) {
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::strchr("0123456789", text[i]) == nullptr || (i > 0 && std::isalnum(text[i - 1]) != 0)) continue;
    size_t end = i;
    while (end < text.size() && std::strchr("0123456789.e", text[end]) != nullptr) ++end;
    found.emplace_back(i, end);
    i = end;
  }
  return found;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1);
    lines.push_back(text.substr(begin, end - begin + 1));
    begin = end + 1;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line;
  return text;
}

void expect_both(const Outcomes& outcomes) {
  EXPECT_GT(outcomes.refused, 0);
  EXPECT_GT(outcomes.legal, 0);
  EXPECT_LT(outcomes.slowest, 5.0) << "seconds for one file";
}

TEST(PlanFuzz, AnyNumberMayStandAnywhere) {
  Outcomes outcomes;
  for (const auto& good : good_files())
    for (const auto& [begin, end] : numbers_in(good))
      for (const char* number : {"0",
                                 "1",
                                 "2",
                                 "3",
                                 "-1",
                                 "7",
                                 "32767",
                                 "32768",
                                 "65536",
                                 "2147483647",
                                 "2147483648",
                                 "1073741824",
                                 "9223372036854775807",
                                 "-9223372036854775808",
                                 "9223372036854775808",
                                 "1e308",
                                 "-0.5",
                                 "nan",
                                 "inf",
                                 "true",
                                 "\"1\"",
                                 "[1, 2]",
                                 "{}",
                                 "1979-05-27",
                                 "0x10",
                                 ""})
        read(good.substr(0, begin) + number + good.substr(end), outcomes);
  expect_both(outcomes);
}

TEST(PlanFuzz, LinesMayBeLostDoubledSwappedOrOfAnotherFile) {
  const uint64_t key = core::key_of(11, "lines of plan files");
  const auto files = good_files();
  Outcomes outcomes;
  for (uint64_t round = 0; round < 1500; ++round) {
    const auto draw = [&](uint64_t what, size_t bound) {
      return static_cast<size_t>(core::uniform_below(key, 8 * round + what, static_cast<int64_t>(bound)));
    };
    auto lines = lines_of(files[draw(0, files.size())]);
    const auto others = lines_of(files[draw(1, files.size())]);
    const size_t changes = 1 + draw(2, 3);
    for (size_t i = 0; i < changes; ++i) {
      const size_t at = draw(3 + i, lines.size());
      switch (draw(6, 4)) {
        case 0:
          lines.erase(lines.begin() + static_cast<int64_t>(at));
          break;
        case 1:
          lines.insert(lines.begin() + static_cast<int64_t>(at), lines[at]);
          break;
        case 2:
          std::swap(lines[at], lines[draw(7, lines.size())]);
          break;
        default:
          lines[at] = others[draw(7, others.size())];
      }
    }
    read(joined(lines), outcomes);
  }
  expect_both(outcomes);
}

TEST(PlanFuzz, DeepAndLongTextsEnd) {
  Outcomes outcomes;
  const std::string good = good_files().front();
  read("stages = " + std::string(100000, '[') + "\n" + good, outcomes);
  read("stages = " + std::string(100, '[') + std::string(100, ']') + "\n", outcomes);
  read(good + std::string(2000, '[') + "\n", outcomes);
  std::string many = good;
  for (int i = 0; i < 3000; ++i) many += "\n[[layer]]\nfirst = 0\nlast = 7\ntp = 1\n";
  read(many, outcomes);
  read("world = 1 #" + std::string(1 << 20, 'x') + "\n" + good, outcomes);
  read(std::string(1 << 20, '\n'), outcomes);
  EXPECT_EQ(outcomes.legal, 0);
  EXPECT_LT(outcomes.slowest, 5.0) << "seconds for one file";
}

}  // namespace
}  // namespace galvatron::plan
