#pragma once
// The searches of tests/golden/galvatron3/searches.txt: what is asked and what the public code found, for
// tests and the benchmark.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "search/galvatron3/search.hpp"
#include "support/galvatron3.hpp"

namespace galvatron::test::galvatron3 {

namespace s3 = search::galvatron3;

/// One row; columns that are not known are "?".
struct SearchRow {
  std::string profiles, switches;
  s3::SearchOptions options;
  g3::Pipeline pipeline = g3::Pipeline::one_f_one_b;
  double throughput = 0;          ///< 0: nothing fits
  std::vector<std::string> plan;  ///< micro-batches, stages, mode, buffer width, vocabulary, MB left, layers
  std::string name() const {
    return profiles + " " + std::to_string(options.memory_mb / 1024) + " GB, batch " +
           std::to_string(options.batches.front()) + ", micro-batches " +
           (options.chunks == 0 ? "all" : std::to_string(options.chunks)) + ", " + switches;
  }
};

inline std::vector<std::string> cut_at(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) out.push_back(part);
  return out;
}

inline SearchRow search_row(const std::vector<std::string>& columns) {
  SearchRow row;
  row.profiles = columns.at(0);
  row.switches = columns.at(4);
  auto& options = row.options;
  options.space.world = 8;
  options.space.layers = row.profiles == "a100_8" ? 32 : 28;
  options.space.max_pp = options.space.max_tp = options.space.max_sp = 8;
  options.memory_mb = 1024 * std::stoll(columns.at(1));
  options.batches = {std::stoll(columns.at(2))};
  options.chunks = std::stoll(columns.at(3));
  const std::map<std::string, s3::Without> without = {{"disable_pp", s3::Without::pp},
                                                      {"disable_tp", s3::Without::tp},
                                                      {"disable_sp", s3::Without::sp},
                                                      {"disable_fsdp", s3::Without::zero3},
                                                      {"disable_ckpt", s3::Without::recompute}};
  for (const auto& name : cut_at(row.switches, ',')) {
    if (without.contains(name)) options.space.without.insert(without.at(name));
    if (name == "uniform") options.grain = s3::Grain::uniform;
    if (name == "ddp") options.space.plain = s3::DpType::ddp;
    if (name == "gpipe") row.pipeline = g3::Pipeline::gpipe;
  }
  if (columns.at(5) != "none") row.throughput = std::stod(columns.at(5));
  row.plan.assign(columns.begin() + 6, columns.end());
  return row;
}

inline std::vector<SearchRow> search_rows() {
  std::vector<SearchRow> out;
  for (const auto& columns : rows("searches.txt")) out.push_back(search_row(columns));
  return out;
}

inline g3::Rules rules_of(const SearchRow& row) {
  return row.profiles == "a100_8" ? shipped_rules(row.pipeline) : search_test_rules();
}

inline std::ostream& operator<<(std::ostream& out, const SearchRow& row) {
  return out << row.name();
}

/// "2x1-1-8,1x1-1-8f|…", runs of equal layers together, in the order of their names.
inline std::string layers_text(const s3::Found& found) {
  std::string out;
  for (const auto& stage : found.layers) {
    std::map<std::string, int> counts;
    for (const auto& layer : stage) ++counts[to_string(layer)];
    out += out.empty() ? "" : "|";
    for (const auto& [name, count] : counts)
      out += (out.empty() || out.back() == '|' ? "" : ",") + std::to_string(count) + "x" + name;
  }
  return out;
}

/// The same text with its runs in the order of their names.
inline std::string sorted_runs(const std::string& layers) {
  std::string out;
  for (const auto& stage : cut_at(layers, '|')) {
    auto runs = cut_at(stage, ',');
    std::sort(runs.begin(), runs.end(), [](const std::string& a, const std::string& b) {
      return a.substr(a.find('x')) < b.substr(b.find('x'));
    });
    out += out.empty() ? "" : "|";
    for (size_t i = 0; i < runs.size(); ++i) out += (i > 0 ? "," : "") + runs[i];
  }
  return out;
}

}  // namespace galvatron::test::galvatron3
