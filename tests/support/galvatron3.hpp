#pragma once
// The figures of tests/golden/galvatron3 as the tests use them: rules over its profiles, strategies by name.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cost/galvatron3/rules.hpp"
#include "store/galvatron3/numbers_file.hpp"

namespace galvatron::test::galvatron3 {

namespace g3 = cost::galvatron3;

inline std::string figures(const std::string& name) {
  return std::string(GALVATRON_SOURCE_DIR) + "/tests/golden/galvatron3/" + name;
}

inline g3::Numbers numbers(const std::string& name) {
  return store::galvatron3::read_numbers(figures(name));
}

inline g3::Hardware hardware(const std::string& folder) {
  return g3::hardware_of({numbers(folder + "/allreduce_bandwidth_1nodes_8gpus_per_node.json"),
                          numbers(folder + "/p2p_bandwidth_1nodes_8gpus_per_node.json"),
                          numbers(folder + "/overlap_coefficient.json"),
                          numbers(folder + "/sp_time_1nodes_8gpus_per_node.json")},
                         8);
}

/// llama2-7b on 8 A100, sequence 2048.
inline g3::Rules shipped_rules(g3::Pipeline pipeline = g3::Pipeline::one_f_one_b) {
  const g3::ModelFiles files = {numbers("a100_8/computation_profiling_bf16_llama2-7b_all.json"),
                                numbers("a100_8/memory_profiling_bf16_llama2-7b_all.json")};
  g3::Settings settings;
  settings.world = 8;
  settings.pipeline = pipeline;
  return {hardware("a100_8"),
          g3::model_of(files, {32, 4096, 2048, g3::TimeMode::batch, g3::MemoryMode::fixed, "_sp"}), settings};
}

/// Its search tests: 28 layers, sequence 8192 out of the curves over lengths, gradients deferred.
inline g3::Rules search_test_rules() {
  const g3::ModelFiles files = {numbers("search_tests/computation_sequence.json"),
                                numbers("search_tests/memory_sequence.json")};
  g3::Settings settings;
  settings.world = 8;
  settings.reduction = g3::GradientReduction::deferred;
  return {hardware("search_tests"),
          g3::model_of(files, {28, 4096, 8192, g3::TimeMode::sequence, g3::MemoryMode::sequence, "_sp"}),
          settings};
}

/// "2-4*-1-c-sp" as a strategy; replicas that share nothing but optimizer states are zero2.
inline g3::Strategy strategy_named(const std::string& name) {
  g3::Strategy s;
  std::istringstream in(name);
  int64_t width = 1;
  char dash = 0;
  in >> s.pp >> dash >> width;
  if (in.peek() == '*') in.get();
  in >> dash >> s.dp;
  std::string rest;
  in >> rest;
  (rest.find("-sp") != std::string::npos ? s.sp : s.tp) = width;
  if (rest.find("-c") != std::string::npos) s.recompute = spec::Recompute::full;
  s.type = s.dp == 1 ? g3::DpType::ddp : rest.starts_with("f") ? g3::DpType::zero3 : g3::DpType::zero2;
  EXPECT_EQ(to_string(s), name);
  return s;
}

/// Lines of a file without comments, cut at blanks.
inline std::vector<std::vector<std::string>> rows(const std::string& name) {
  std::vector<std::vector<std::string>> out;
  std::ifstream file(figures(name));
  EXPECT_TRUE(file) << name;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    out.emplace_back();
    for (std::string word; in >> word;) out.back().push_back(word);
  }
  return out;
}

/// 1e-6 of its size, or half a unit of its last digit where fewer digits were printed.
inline void expect_printed(double got, const std::string& printed, const std::string& what) {
  const double expected = std::stod(printed);
  const auto dot = printed.find('.');
  const auto digits = dot == std::string::npos ? 0 : printed.size() - dot - 1;
  const double half_unit = 0.5000001 * std::pow(10.0, -static_cast<double>(digits));
  EXPECT_NEAR(got, expected, std::max(1e-6 * std::abs(expected), half_unit)) << what;
}

}  // namespace galvatron::test::galvatron3
