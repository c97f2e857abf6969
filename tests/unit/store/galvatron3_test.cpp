// JSON files of the Python Galvatron 3.0: what is read from them, what is written, and that whatever is wrong
// with them is one UserError with file, key and value.

#include <random>

#include "core/errors.hpp"
#include "store/galvatron3/strategy_file.hpp"
#include "support/galvatron3.hpp"
#include "support/golden.hpp"
#include "support/models.hpp"

namespace galvatron::test::galvatron3 {
namespace {

using store::galvatron3::parse_numbers;
using store::galvatron3::parse_strategy_file;
using store::galvatron3::to_json;

template <typename Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const core::UserError& error) {
    return error.what();
  }
  return "no error";
}

std::string numbers_error(const std::string& text) {
  return error_of([&] { parse_numbers(text, "f.json"); });
}

TEST(Galvatron3Numbers, AreFlattenedInTheirOrder) {
  const auto read = parse_numbers(R"({"b": {"2": 1.5, "1": 2}, "a": -3})", "f.json");
  ASSERT_EQ(read.values.size(), 3u);
  EXPECT_EQ(read.values[0], (std::pair<std::string, double>{"b/2", 1.5}));
  EXPECT_EQ(read.values[1], (std::pair<std::string, double>{"b/1", 2}));
  EXPECT_EQ(read.values[2], (std::pair<std::string, double>{"a", -3}));
}

TEST(Galvatron3Numbers, SayWhatIsWrong) {
  EXPECT_EQ(numbers_error("{\"a\": 1,\n  b}"), "f.json: is no JSON: line 2, column 3");
  EXPECT_EQ(numbers_error("[1]"), "f.json: is no JSON object");
  EXPECT_EQ(numbers_error(""), "f.json: is no JSON: line 1, column 1");
  EXPECT_EQ(numbers_error(R"({"a": {"b": "fast"}})"), "f.json: key 'a/b': \"fast\" is no number");
  EXPECT_EQ(numbers_error(R"({"a": [1]})"), "f.json: key 'a': [1] is no number");
  EXPECT_EQ(numbers_error(R"({"a": 1, "a": 2})"), "f.json: key 'a' is there twice");
  EXPECT_NE(numbers_error(R"({"a": 1e999})").find("f.json: "), std::string::npos);
  EXPECT_NE(numbers_error(R"({"a": NaN})").find("f.json: is no JSON: line 1"), std::string::npos);
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
  EXPECT_EQ(numbers_error(deep), "f.json: nests deeper than 16");
}

TEST(Galvatron3Hardware, ReadsCoefficientsAndFits) {
  const auto read = hardware("search_tests");
  EXPECT_EQ(1 / read.strided.at(2), 153.933);
  EXPECT_EQ(1 / read.consecutive.at(4), 164.272);
  EXPECT_EQ(1 / read.strided.at(8), 160.445);
  EXPECT_EQ(1 / read.point_to_point.at(2), 147.32);
  EXPECT_EQ(read.overlap, 1.1534195950157762);
  EXPECT_EQ(read.gather_over(8).at(8), 0.1827 / 2);
  EXPECT_EQ(read.gather_over(8).at(16), 0.2941 / 2);
  EXPECT_EQ(read.exchange_over(4).at(8), 0.1255);
  EXPECT_EQ(read.exchange_over(4).at(16), 0.1514);
  EXPECT_NEAR(read.gather_over(8).line.slope, 0.004006535706157166, 1e-9);
  EXPECT_NEAR(read.gather_over(2).line.intercept, 0.03918276070043958, 1e-9);
  EXPECT_NEAR(read.exchange_over(4).line.slope, 0.003874662059509131, 1e-9);
  EXPECT_NEAR(read.exchange_over(8).line.intercept, 0.11025102445188786, 1e-9);
}

TEST(Galvatron3Hardware, SaysWhatIsMissing) {
  const auto good = numbers("a100_8/allreduce_bandwidth_1nodes_8gpus_per_node.json");
  const g3::HardwareFiles files = {good, numbers("a100_8/p2p_bandwidth_1nodes_8gpus_per_node.json"),
                                   numbers("a100_8/overlap_coefficient.json"),
                                   numbers("a100_8/sp_time_1nodes_8gpus_per_node.json")};
  auto bad = files;
  bad.all_reduce = {"ar.json", {{"allreduce_size_8_consec_1", 0}}};
  EXPECT_EQ(error_of([&] { g3::hardware_of(bad, 8); }),
            "ar.json: key 'allreduce_size_8_consec_1': 0 is not above 0");
  EXPECT_NE(error_of([&] { g3::hardware_of(files, 16); }).find("key 'allreduce_size_16_consec_1' is missing"),
            std::string::npos);
  bad = files;
  bad.overlap = {"ov.json", {{"overlap_coe", 0.5}}};
  EXPECT_EQ(error_of([&] { g3::hardware_of(bad, 8); }), "ov.json: key 'overlap_coe': 0.5 is below 1");
  bad = files;
  bad.collectives = {"sp.json", {{"allreduce_size_2_1MB_time", 0.1}}};
  EXPECT_EQ(error_of([&] { g3::hardware_of(bad, 8); }),
            "sp.json: keys 'allreduce_size_2_…MB_time': 1 sizes, a line needs 8");
  bad.collectives.values.clear();
  EXPECT_EQ(error_of([&] { g3::hardware_of(bad, 8).gather_over(4); }),
            "sp.json: key 'allreduce_size_4_…MB_time' is missing");
}

g3::ModelTables tables(const std::string& computation, const std::string& memory, int64_t seq,
                       g3::TimeMode time, g3::MemoryMode mode, const std::string& suffix = "_sp") {
  return g3::model_of({numbers("search_tests/" + computation), numbers("search_tests/" + memory)},
                      {28, 4096, seq, time, mode, suffix});
}

TEST(Galvatron3Model, ReadsTimesByMode) {
  const auto fixed = tables("computation_static.json", "memory_static.json", 4096, g3::TimeMode::fixed,
                            g3::MemoryMode::fixed);
  EXPECT_EQ(fixed.layer_ms.slope, 11.219752883911134);
  EXPECT_EQ(fixed.vocab_ms.slope, 27.296485137939456);
  EXPECT_EQ(fixed.activation_mb.at(8), 79.5704345703125);
  const auto bare = tables("computation_static.json", "memory_static.json", 4096, g3::TimeMode::fixed,
                           g3::MemoryMode::fixed, "");
  EXPECT_EQ(bare.activation_mb.at(8), 191.6251220703125);
  const auto curve = tables("computation_sequence.json", "memory_sequence.json", 8192, g3::TimeMode::sequence,
                            g3::MemoryMode::sequence);
  EXPECT_NEAR(curve.layer_ms.slope, 26.015209791450236, 1e-7);
  EXPECT_NEAR(curve.vocab_ms.slope, 59.737223280467504, 1e-7);
  EXPECT_EQ(curve.parameter_mb, 973.771484375);
  EXPECT_EQ(curve.activation_mb.at(8), 261.03619384765625);
  EXPECT_EQ(curve.kept_mb, 56);
  const auto shipped = shipped_rules().model();
  EXPECT_NEAR(shipped.layer_ms.slope, 3.85901689949117, 1e-7);
  EXPECT_NEAR(shipped.layer_ms.intercept, 0.8329851393754094, 1e-7);
  EXPECT_NEAR(shipped.vocab_ms.slope, 2.6803283211563755, 1e-7);
  EXPECT_NEAR(shipped.vocab_ms.intercept, 2.3548992612929927, 1e-7);
}

/// A file without derived entries: they follow from the raw times of two numbers of layers.
TEST(Galvatron3Model, DerivesTimesFromRawOnes) {
  for (const char* name : {"search_tests/computation_batch.json", "search_tests/computation_sequence.json",
                           "a100_8/computation_profiling_bf16_llama2-7b_all.json"}) {
    const auto whole = numbers(name);
    g3::ModelFiles raw = {{whole.file, {}}, numbers("search_tests/memory_sequence.json")};
    for (const auto& entry : whole.values)
      if (entry.first.starts_with("layernum")) raw.computation.values.push_back(entry);
    ASSERT_FALSE(raw.computation.values.empty()) << name;
    g3::ModelFiles derived = {whole, raw.memory};
    const bool lengths = whole.values.front().first.find("seq8192") != std::string::npos ||
                         std::string(name).find("sequence") != std::string::npos;
    const int64_t seq = std::string(name).starts_with("a100") ? 2048 : 4096;
    const g3::ModelQuestion question = {
        28,   4096, seq, lengths ? g3::TimeMode::sequence : g3::TimeMode::batch, g3::MemoryMode::sequence,
        "_sp"};
    const auto a = g3::model_of(raw, question), b = g3::model_of(derived, question);
    EXPECT_NEAR(a.layer_ms.slope, b.layer_ms.slope, 1e-6) << name;
    EXPECT_NEAR(a.layer_ms.intercept, b.layer_ms.intercept, 1e-6) << name;
    EXPECT_NEAR(a.vocab_ms.slope, b.vocab_ms.slope, 1e-6) << name;
    EXPECT_NEAR(a.vocab_ms.intercept, b.vocab_ms.intercept, 1e-6) << name;
  }
}

TEST(Galvatron3Model, SaysWhatIsMissing) {
  const auto fixed = g3::MemoryMode::fixed;
  EXPECT_NE(error_of([&] {
              tables("computation_batch.json", "memory_static.json", 2048, g3::TimeMode::batch, fixed);
            }).find("computation_batch.json: keys 'layertype_0_bsz…_seq2048': there is none"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              tables("computation_static.json", "memory_static.json", 4096, g3::TimeMode::batch, fixed);
            }).find("1 batches, a line needs 8"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              tables("computation_batch.json", "memory_sequence.json", 4096, g3::TimeMode::batch, fixed, "");
            }).find("memory_sequence.json: key 'layertype_0/4096/parameter_size' is missing"),
            std::string::npos);
  const auto shipped = shipped_rules();
  EXPECT_NE(error_of([&] {
              static_cast<void>(shipped.model().activation_mb.at(16));
            }).find("layertype_0_sp/2048/tp_activation_per_bsz_dict: nothing for degree 16"),
            std::string::npos);
}

const char* const example = "a100_8/galvatron_config_llama2-7b_1nodes_8gpus_per_node_36GB_bf16.json";

TEST(Galvatron3StrategyFile, TheShippedExampleIsAPlan) {
  const auto file = store::galvatron3::read_strategy_file(figures(example));
  const auto model = small_model(32, false);
  const auto plan = plan::galvatron3::plan_of(file, model, 8, example);
  EXPECT_EQ(to_string(plan.layers.front()), "sp2 dp4 zero3");
  EXPECT_EQ(to_string(plan.layers.back()), "sp2 dp4 zero3");
  EXPECT_EQ(to_string(plan.layers[1]), "dp8 zero3 recompute");
  EXPECT_EQ(to_string(plan.layers[40]), "dp8 zero3 recompute");
  EXPECT_EQ(to_string(plan.layers[41]), "dp8 zero3");
  EXPECT_EQ(plan.batch, 16);
  EXPECT_EQ(plan.microbatches, 1);
  EXPECT_EQ(plan.stages, (std::vector<plan::StageLayers>{{0, 65}}));
  // And back: only what the example leaves out is added.
  auto again = plan::galvatron3::strategy_file_of(plan, model, "plan");
  EXPECT_EQ(again.world_size, 8);
  again.world_size = 0;
  EXPECT_EQ(again, file);
  EXPECT_EQ(parse_strategy_file(to_json(again), "again"), file);
}

std::string edited(const std::string& from, const std::string& to) {
  std::string text = R"({"pp_deg": 2, "tp_sizes_enc": "2,2,1,1", "tp_consecutive_flags": "1,1,1,1",)"
                     R"( "dp_types_enc": "0,1,1,0", "use_sp": "0,1,0,0", "checkpoint": "0,0,1,0",)"
                     R"( "global_bsz": 8, "chunks": 2, "pp_division": "1,3", "pipeline_type": "gpipe",)"
                     R"( "default_dp_type": "ddp", "vtp": 2, "vsp": 0, "vocab_sdp": 0, "world_size": 4})";
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Galvatron3StrategyFile, KeepsEveryPartOfAPlan) {
  const auto file = parse_strategy_file(edited("8", "8"), "f.json");
  const auto model = small_model(4);
  const auto plan = plan::galvatron3::plan_of(file, model, 4, "f.json");
  EXPECT_EQ(plan.stages, (std::vector<plan::StageLayers>{{0, 2}, {3, 9}}));
  EXPECT_EQ(plan.schedule, plan::ScheduleKind::gpipe);
  EXPECT_EQ(to_string(plan.layers[0]), "tp2");
  EXPECT_EQ(to_string(plan.layers[3]), "sp2 zero3");
  EXPECT_EQ(to_string(plan.layers[6]), "dp2 zero3 recompute");
  EXPECT_EQ(to_string(plan.layers[7]), "dp2");
  const auto again = plan::galvatron3::strategy_file_of(plan, model, "plan");
  EXPECT_EQ(parse_strategy_file(to_json(again), "again"), again);
  EXPECT_EQ(plan::galvatron3::plan_of(again, model, 4, "again"), plan);
}

TEST(Galvatron3StrategyFile, SaysWhatIsWrong) {
  const auto error = [](const std::string& from, const std::string& to) {
    return error_of([&] { parse_strategy_file(edited(from, to), "f.json"); });
  };
  EXPECT_EQ(error("\"pp_deg\": 2", "\"pp_deg\": 0"),
            "f.json: key 'pp_deg': 0 is no number from 1 to 2147483647");
  EXPECT_EQ(error("\"pp_deg\": 2", "\"pp\": 2"), "f.json: key 'pp_deg' is missing");
  EXPECT_EQ(
      error("\"2,2,1,1\"", "\"2,2,x,1\""),
      "f.json: key 'tp_sizes_enc': \"2,2,x,1\" is no list like \"1,1\" of numbers from 1 to 2147483647");
  EXPECT_EQ(error("\"0,0,1,0\"", "\"0,0,2,0\""),
            "f.json: key 'checkpoint': \"0,0,2,0\" is no list like \"1,1\" of numbers from 0 to 1");
  EXPECT_EQ(error("\"gpipe\"", "\"zigzag\""),
            "f.json: key 'pipeline_type': \"zigzag\" is not one of pipedream_flush, gpipe");
  EXPECT_EQ(error("\"vsp\": 0", "\"embed_sdp\": 1"), "f.json: key 'vocab_sdp': 0 contradicts embed_sdp");
  EXPECT_EQ(error("\"vsp\": 0", "\"ep_sizes_enc\": \"1,1,2,1\""),
            "f.json: key 'ep_sizes_enc': \"1,1,2,1\" splits experts, which is not supported");
  EXPECT_EQ(error("\"vsp\": 0", "\"vps\": 0"),
            "f.json: key 'vps': 0 is not known: such files have no key like this");
}

TEST(Galvatron3StrategyFile, SaysWhyItIsNoPlanForTheModel) {
  const auto error = [](const std::string& from, const std::string& to, int64_t blocks = 4,
                        int64_t world = 4) {
    return error_of([&] {
      const auto file = parse_strategy_file(edited(from, to), "f.json");
      plan::galvatron3::plan_of(file, small_model(blocks), world, "f.json");
    });
  };
  EXPECT_EQ(error("8", "8", 5), "f.json: key 'tp_sizes_enc': 4 entries, but the model has 5 blocks");
  EXPECT_EQ(error("8", "8", 4, 8), "f.json: key 'world_size': 4, but there are 8 ranks");
  EXPECT_EQ(error("\"1,3\"", "\"1,2\""),
            "f.json: key 'pp_division': 2 stages of 3 blocks together, not 2 of 4");
  EXPECT_EQ(error("\"0,1,0,0\"", "\"0,1\""), "f.json: key 'use_sp': 2 entries, but tp_sizes_enc has 4");
  EXPECT_EQ(error("\"2,2,1,1\"", "\"2,2,1,3\""),
            "f.json: key 'tp_sizes_enc', block 3: 3 × cp 1 does not divide the 2 ranks of a stage");
}

TEST(Galvatron3StrategyFile, SaysWhatItCannotSay) {
  const auto model = small_model(2);
  plan::Plan plan;
  plan.world = 8;
  plan.batch = 8;
  plan.microbatches = 2;
  plan.schedule = plan::ScheduleKind::eager_one_f_one_b;
  plan.stages = {{0, 1}, {2, 5}};
  plan.layers.assign(6, {.dp = 4, .zero = 2});
  plan.layers[1] = {.tp = 2, .sp = 2};
  plan.layers[3] = {.dp = 4, .zero = 1};
  plan.layers[4] = {.dp = 4};
  plan.layers[5] = {.dp = 4, .zero = 3};
  EXPECT_EQ(error_of([&] { plan::galvatron3::strategy_file_of(plan, model, "plan.toml"); }),
            "plan.toml: a strategy file of Galvatron 3.0 cannot say this plan:\n"
            "  schedule eager-1f1b: there are 1f1b and gpipe\n"
            "  stage 0 holds layers 0 … 1: stages hold whole blocks, at least one\n"
            "  stage 1 holds layers 2 … 5: stages hold whole blocks, at least one\n"
            "  ZeRO level 1: there are 0 (ddp), 2 (zero2) and 3\n"
            "  ZeRO levels 0 and 2 in one plan: all layers but those at level 3 have the same\n"
            "  block 0: attention tp2 sp2, mlp dp4 zero2: a block has one strategy\n"
            "  block 0: tp 2 with sp 2: a layer has one or the other\n"
            "  block 1: attention dp4 zero1, mlp dp4: a block has one strategy\n"
            "  embedding and head differ: dp4 zero2 and dp4 zero3");
}

/// Every way in which a file is used; only UserError may come out.
void use(const std::string& name, const std::string& text) {
  try {
    if (name == example) {
      const auto file = parse_strategy_file(text, name);
      plan::galvatron3::plan_of(file, small_model(32, false), 8, name);
      return;
    }
    const auto read = parse_numbers(text, name);
    const auto folder = name.substr(0, name.find('/'));
    const g3::HardwareFiles hardware = {read, read, read, read};
    if (name.find("profiling") == std::string::npos) {
      try {
        g3::hardware_of(hardware, 8);
      } catch (const core::UserError&) {
      }
      g3::HardwareFiles others = {numbers(folder + "/allreduce_bandwidth_1nodes_8gpus_per_node.json"),
                                  numbers(folder + "/p2p_bandwidth_1nodes_8gpus_per_node.json"),
                                  numbers(folder + "/overlap_coefficient.json"), read};
      g3::hardware_of(others, 8);
      return;
    }
    const bool memory = name.find("memory") != std::string::npos;
    const auto computation = memory ? numbers("a100_8/computation_profiling_bf16_llama2-7b_all.json") : read;
    const auto other = memory ? read : numbers("a100_8/memory_profiling_bf16_llama2-7b_all.json");
    for (const auto mode : {g3::MemoryMode::fixed, g3::MemoryMode::sequence})
      g3::model_of({computation, other}, {32, 4096, 2048, g3::TimeMode::batch, mode, "_sp"});
  } catch (const core::UserError& error) {
    const std::string text = error.what();
    const bool names_a_file = text.find(name.substr(0, 6)) != std::string::npos;
    EXPECT_TRUE(names_a_file) << text;
  }
}

TEST(Galvatron3Fuzz, DamagedFilesAreUserErrors) {
  const std::string marks = "{}[]\",:-+.eE0123456789 \n\t\\ntfaxyz\x80\xff";
  std::mt19937 random(7);
  for (const char* name :
       {example, "a100_8/memory_profiling_bf16_llama2-7b_all.json",
        "a100_8/computation_profiling_bf16_llama2-7b_all.json", "a100_8/sp_time_1nodes_8gpus_per_node.json",
        "a100_8/allreduce_bandwidth_1nodes_8gpus_per_node.json"}) {
    const auto whole = read_file(figures(name));
    ASSERT_FALSE(whole.empty()) << name;
    for (size_t cut = 0; cut < whole.size(); cut += 1 + whole.size() / 200) use(name, whole.substr(0, cut));
    for (int round = 0; round < 300; ++round) {
      auto text = whole;
      const auto changes = 1 + random() % 4;
      for (unsigned i = 0; i < changes; ++i) {
        const auto at = random() % text.size();
        const char mark = marks[random() % marks.size()];
        if (random() % 3 == 0) {
          text.erase(at, 1 + random() % 8);
        } else if (random() % 2 == 0) {
          text.insert(at, 1, mark);
        } else {
          text[at] = mark;
        }
        if (text.empty()) text = "{";
      }
      use(name, text);
    }
  }
}

}  // namespace
}  // namespace galvatron::test::galvatron3
