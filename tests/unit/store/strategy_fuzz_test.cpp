// Strategy files of the Python Galvatron 3.0 with hostile values: each ends in a UserError that names the
// file, or in a plan that is legal and goes back into a strategy file unchanged.
#include <gtest/gtest.h>

#include <chrono>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/galvatron3/strategy_file.hpp"
#include "support/models.hpp"

namespace galvatron::test::galvatron3 {
namespace {

using store::galvatron3::parse_strategy_file;

const std::vector<std::pair<std::string, std::string>> good = {{"pp_deg", "2"},
                                                               {"tp_sizes_enc", "\"2,2,1,1\""},
                                                               {"tp_consecutive_flags", "\"1,1,1,1\""},
                                                               {"dp_types_enc", "\"0,1,1,0\""},
                                                               {"cp_sizes_enc", "\"1,1,1,1\""},
                                                               {"use_sp", "\"0,1,0,0\""},
                                                               {"checkpoint", "\"0,0,1,0\""},
                                                               {"global_bsz", "8"},
                                                               {"chunks", "2"},
                                                               {"pp_division", "\"1,3\""},
                                                               {"pipeline_type", "\"gpipe\""},
                                                               {"default_dp_type", "\"ddp\""},
                                                               {"vtp", "2"},
                                                               {"vsp", "0"},
                                                               {"vocab_sdp", "0"},
                                                               {"world_size", "4"}};

std::string text_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : entries) parts.push_back("\"" + key + "\": " + value);
  return "{" + core::join(parts, ", ") + "}";
}

struct Outcomes {
  int64_t refused = 0, legal = 0;
  double slowest = 0;  ///< seconds
};

void read(const std::string& text, Outcomes& outcomes) {
  const auto model = small_model(4);
  const auto begin = std::chrono::steady_clock::now();
  try {
    const auto file = parse_strategy_file(text, "some.json");
    const auto plan = plan::galvatron3::plan_of(file, model, 4, "some.json");
    ++outcomes.legal;
    EXPECT_TRUE(plan::faults_of(plan, model, 4).empty()) << text;
    EXPECT_EQ(plan::plan_from_toml(plan::to_toml(plan, model), "plan.toml", model), plan) << text;
    const auto again = plan::galvatron3::strategy_file_of(plan, model, "some.json");
    EXPECT_EQ(plan::galvatron3::plan_of(again, model, 4, "again.json"), plan) << text;
  } catch (const core::UserError& error) {
    ++outcomes.refused;
    EXPECT_NE(std::string(error.what()).find("some.json"), std::string::npos) << error.what() << "\n" << text;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not a UserError: " << error.what() << "\n" << text;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  outcomes.slowest = std::max(outcomes.slowest, took.count());
}

TEST(StrategyFuzz, AnyValueMayStandAnywhere) {
  Outcomes outcomes;
  read(text_of(good), outcomes);
  ASSERT_EQ(outcomes.legal, 1);
  for (size_t i = 0; i < good.size(); ++i)
    for (const char* value : {"0",
                              "1",
                              "2",
                              "3",
                              "-1",
                              "4",
                              "8",
                              "2147483648",
                              "9223372036854775807",
                              "-9223372036854775808",
                              "18446744073709551616",
                              "1e300",
                              "0.5",
                              "true",
                              "null",
                              "[]",
                              "{}",
                              "[1, 2]",
                              "\"\"",
                              "\"1\"",
                              "\"1,1,1,1\"",
                              "\"2,2,2,2\"",
                              "\"4,4,4,4\"",
                              "\"0,0,0,0\"",
                              "\"1,1,1\"",
                              "\"1,1,1,1,1\"",
                              "\"-1,1,1,1\"",
                              "\"9223372036854775807,1,1,1\"",
                              "\"1,,1,1\"",
                              "\",\"",
                              "\"1;1;1;1\"",
                              "\"2,2\"",
                              "\"9223372036854775807,9223372036854775807\"",
                              "\"ddp\"",
                              "\"zero3\"",
                              "\"pipedream_flush\""}) {
      auto entries = good;
      entries[i].second = value;
      read(text_of(entries), outcomes);
    }
  EXPECT_GT(outcomes.refused, 0);
  EXPECT_GT(outcomes.legal, 1);
  EXPECT_LT(outcomes.slowest, 5.0) << "seconds for one file";
}

TEST(StrategyFuzz, KeysMayBeLostAndPairsMayBothBeWrong) {
  Outcomes outcomes;
  for (size_t i = 0; i < good.size(); ++i) {
    auto fewer = good;
    fewer.erase(fewer.begin() + static_cast<int64_t>(i));
    read(text_of(fewer), outcomes);
    for (size_t j = 0; j < good.size(); ++j) {
      auto entries = good;
      entries[i].second = good[j].second;
      entries[j].second = good[i].second;
      read(text_of(entries), outcomes);
    }
  }
  read(std::string(200000, '['), outcomes);
  read("{\"pp_deg\": " + std::string(20000, '['), outcomes);
  EXPECT_GT(outcomes.refused, 0);
  EXPECT_LT(outcomes.slowest, 5.0) << "seconds for one file";
}

}  // namespace
}  // namespace galvatron::test::galvatron3
