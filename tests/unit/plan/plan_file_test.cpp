// Plan files: what is written is read back, and whatever else stands in one ends in a UserError that says
// what is wrong.
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "plan/by_hand.hpp"
#include "plan/plan.hpp"
#include "support/models.hpp"

namespace galvatron::plan {
namespace {

const spec::ModelSpec model = test::small_model(3);

Plan priced_plan() {
  UniformPlan wish;
  wish.world = 4;
  wish.batch = 8;
  wish.pp = 2;
  wish.zero = 1;
  wish.microbatches = 4;
  Plan plan = plan_by_hand(wish, model);
  plan.layers[3].recompute = spec::Recompute::full;
  plan.layers[4].zero = 3;
  plan.forms = {{2, 1, 2, {core::CollectiveKind::all_reduce, 65536, core::Form::shared}},
                {4, 2, 2, {core::CollectiveKind::all_gather, 0, core::Form::hierarchical}},
                {4, 2, 2, {core::CollectiveKind::all_gather, int64_t{1} << 32, core::Form::direct}}};
  plan.predicted_step_seconds = 0.1 + 0.2;
  plan.profile_fingerprint = "a \"quoted\" \\ name\twith a tab";
  for (int stage = 0; stage < 2; ++stage)
    plan.predictions.push_back({.forward_seconds = 1.0 / 3,
                                .backward_seconds = 2e-7,
                                .step_seconds = 5,
                                .memory_bytes = int64_t{3} << 40,
                                .time_terms = {{"forward gemm", 1e-3 / 7}, {"a transfer", 0}},
                                .memory_terms = {{"saved", 1234567890123.0}, {"parameters", 12}}});
  return plan;
}

TEST(PlanFile, RoundTrip) {
  const Plan plan = priced_plan();
  const std::string text = to_toml(plan, model);
  const Plan back = plan_from_toml(text, "plan.toml", model);
  EXPECT_EQ(back, plan) << text;
  EXPECT_EQ(to_toml(back, model), text);
}

TEST(PlanFile, VirtualStagesAndMixedLayoutsRoundTrip) {
  UniformPlan wish;
  wish.world = 4;
  wish.batch = 8;
  wish.pp = 2;
  wish.microbatches = 4;
  wish.schedule = ScheduleKind::interleaved;
  wish.virtual_stages = 2;
  Plan plan = plan_by_hand(wish, model);
  plan.layers[3] = {.tp = 2};
  const std::string text = to_toml(plan, model);
  EXPECT_NE(text.find("schedule = \"interleaved\"\nvirtual_stages = 2\n"), std::string::npos) << text;
  EXPECT_EQ(plan_from_toml(text, "plan.toml", model), plan) << text;
  EXPECT_EQ(to_toml(priced_plan(), model).find("virtual_stages"), std::string::npos)
      << "the usual plan does not mention them";
}

TEST(PlanFile, PlacementRoundTripsAndTheUsualOneIsNotMentioned) {
  Plan plan = priced_plan();
  EXPECT_EQ(to_toml(plan, model).find("placement"), std::string::npos);
  plan.placement = Placement::stage_minor;
  const std::string text = to_toml(plan, model);
  EXPECT_NE(text.find("\nplacement = \"stage-minor\"\n"), std::string::npos) << text;
  EXPECT_EQ(plan_from_toml(text, "plan.toml", model), plan);
  auto wrong = text;
  wrong.replace(wrong.find("stage-minor"), 11, "stage-first");
  try {
    plan_from_toml(wrong, "plan.toml", model);
    ADD_FAILURE() << "read";
  } catch (const core::UserError& error) {
    EXPECT_NE(std::string(error.what()).find("no placement 'stage-first'"), std::string::npos)
        << error.what();
  }
}

TEST(Placement, GivesEveryRankOneSeat) {
  for (const Placement placement : all_placements)
    for (const int64_t stages : {1, 2, 3, 4})
      for (const int64_t members : {1, 2, 5}) {
        const StageRanks ranks{placement, stages, members};
        std::vector<int> met(static_cast<size_t>(stages * members));
        for (int64_t stage = 0; stage < stages; ++stage)
          for (int64_t member = 0; member < members; ++member) {
            const auto rank = ranks.rank_at(stage, member);
            ASSERT_TRUE(rank >= 0 && rank < stages * members) << rank;
            ++met[static_cast<size_t>(rank)];
            EXPECT_EQ(ranks.stage_of(rank), stage);
            EXPECT_EQ(ranks.member_of(rank), member);
            EXPECT_EQ(rank, ranks.rank_at(stage, 0) + member * ranks.stride());
          }
        for (const int times : met)
          EXPECT_EQ(times, 1) << name_of(placement) << " " << stages << " × " << members;
        EXPECT_EQ(placement_named(std::string(name_of(placement))), placement);
      }
}

TEST(PlanFile, OneTablePerRunOfEqualLayers) {
  const std::string text = to_toml(priced_plan(), model);
  size_t tables = 0;
  for (size_t at = text.find("[[layer]]"); at != std::string::npos; at = text.find("[[layer]]", at + 1))
    ++tables;
  EXPECT_EQ(tables, 4u) << text;
  EXPECT_NE(text.find("[[layer]]  # embedding … blocks.0.mlp\nfirst = 0\nlast = 2\n"), std::string::npos)
      << text;
}

std::string refusal(const std::string& text) {
  try {
    plan_from_toml(text, "p.toml", model);
  } catch (const core::UserError& error) {
    return error.what();
  }
  return "none";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(PlanFile, SaysWhatIsWrong) {
  const std::string good = to_toml(priced_plan(), model);
  const std::pair<std::pair<const char*, const char*>, const char*> cases[] = {
      {{"version = 1", "version = 7"}, "p.toml:3: version 7 is not one that this program reads (1)"},
      {{"world = 4", "worl = 4"}, "'world' is missing"},
      {{"world = 4", "worl = 4"}, "p.toml:4: unknown key 'worl' (did you mean 'world'?)"},
      {{"batch = 8", "batch = \"8\""}, "p.toml:5: batch must be an integer from 1 to"},
      {{"schedule = \"1f1b\"", "schedule = \"1b1f\""},
       "unknown schedule '1b1f'; there are '1f1b', 'gpipe', "
       "'eager-1f1b', 'interleaved'"},
      {{"[[0, 4], [5, 7]]", "[[0, 4], 5]"}, "stages must be a list of [first layer, last layer]"},
      {{"[[0, 4], [5, 7]]", "[[0, 4], [6, 7]]"}, "stage 1 starts at layer 6, but layer 5 is next"},
      {{"dp = 2", "dq = 2"}, "[[layer]] unknown key 'dq' (did you mean 'dp'?)"},
      {{"dp = 2", "dp = 4000000000"}, "[[layer]] dp must be an integer from 1 to"},
      {{"recompute = \"none\"", "recompute = true"}, "[[layer]] recompute must be \"none\" or \"full\""},
      {{"last = 2", "last = 1"}, "1 of 8 layers have no [[layer]], the first is layer 2"},
      {{"last = 2", "last = 3"}, "[[layer]] layer 3 has a strategy in line"},
      {{"last = 2", "last = 99"}, "is not a range of the model's layers 0 … 7"},
      {{"zero = 1", "zero = 7"}, "ZeRO level 7 is not one of 0, 1, 2, 3"},
      {{"forward_seconds = 0", "forward_seconds = -0"}, "forward_seconds must be a number of at least 0"},
      {{"[\"saved\", 1234567890123]", "[\"saved\"]"}, "memory_terms must be a list of [name, number]"},
      {{"world = 4", "world = = 4"}, "p.toml:4: "},
  };
  for (const auto& [change, expected] : cases) {
    const std::string got = refusal(replaced(good, change.first, change.second));
    EXPECT_NE(got.find(expected), std::string::npos) << change.second << "\ngot: " << got;
  }
}

TEST(PlanFile, SaysEverythingAtOnce) {
  std::string text = replaced(to_toml(priced_plan(), model), "batch = 8", "batch = 0");
  text = replaced(text, "zero = 1", "zerro = 1");
  text = replaced(text, "schedule = \"1f1b\"", "schedule = 3");
  const std::string got = refusal(text);
  EXPECT_EQ(std::count(got.begin(), got.end(), '\n'), 2) << got;
}

TEST(PlanFile, BrokenFilesOnlyEverRaiseUserErrors) {
  const std::string good = to_toml(priced_plan(), model);
  for (const char* text :
       {"", "=", "[[layer]]", "layer = 3", "stages = []", "[[layer]]\nfirst = 0\nlast = -1", "\xff\xfe",
        "stages = [[0, 9223372036854775807]]", "prediction = [1, 2]", "[layer]\nfirst = 0"})
    EXPECT_NE(refusal(text), "none") << text;
  const uint64_t key = core::key_of(7, "broken plan files");
  for (uint64_t round = 0; round < 3000; ++round) {
    std::string text = good;
    const auto at =
        static_cast<size_t>(core::uniform_below(key, 4 * round, static_cast<int64_t>(text.size())));
    switch (core::uniform_below(key, 4 * round + 1, 4)) {
      case 0:
        text[at] = static_cast<char>(core::uniform_below(key, 4 * round + 2, 256));
        break;
      case 1:
        text.erase(at, static_cast<size_t>(core::uniform_below(key, 4 * round + 2, 40)));
        break;
      case 2:
        text.insert(at, text.substr(static_cast<size_t>(core::uniform_below(key, 4 * round + 2, 200)), 30));
        break;
      default:
        text.resize(at);
    }
    EXPECT_NO_THROW(refusal(text)) << "round " << round << "\n" << text;
  }
}

TEST(PlanFile, RefusesFormsThatNoGroupCanHave) {
  const std::string text = to_toml(priced_plan(), model);
  const auto with = [&](const std::string& from, const std::string& to) {
    return refusal(replaced(text, from, to));
  };
  EXPECT_NE(with("form = \"shared\"", "form = \"ring\"")
                .find("[[forms]] form: 'ring' is not a form: one of direct, hierarchical, shared"),
            std::string::npos);
  EXPECT_NE(
      with("collective = \"all_reduce\"", "collective = \"reduce\"").find("'reduce' is not a collective"),
      std::string::npos);
  EXPECT_NE(with("form = \"shared\"", "form = \"hierarchical\"").find("hierarchical needs several nodes"),
            std::string::npos);
  EXPECT_NE(with("from_bytes = 4294967296", "from_bytes = 0").find("named twice from 0 bytes on"),
            std::string::npos);
  EXPECT_NE(with("ranks = 2", "ranks = 8").find("no group of a plan of 4 ranks"), std::string::npos);
  EXPECT_NE(with("per_node = 2", "pernode = 2").find("unknown key 'pernode' (did you mean 'per_node'?)"),
            std::string::npos);
}

}  // namespace
}  // namespace galvatron::plan
