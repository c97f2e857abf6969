// Columns are aligned for reading; scripts read the RESULT line.

#include "app/end_table.hpp"

#include <algorithm>
#include <numeric>

#include "core/format.hpp"
#include "core/table.hpp"
#include "core/units.hpp"
#include "program/lower.hpp"

namespace galvatron::app {

std::vector<report::SectionRow> section_rows(comm::World& world, const runtime::SectionTimes& times) {
  std::vector<report::SectionRow> rows;
  for (size_t i = 0; i < runtime::section_count; ++i) {
    const auto section = static_cast<runtime::Section>(i);
    const auto all = world.all_gather(times.of(section));
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    const auto mean = std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
    rows.push_back({std::string(runtime::name_of(section)), *least, mean, *most});
  }
  return rows;
}

std::string section_table(const std::vector<report::SectionRow>& rows) {
  const double total =
      std::accumulate(rows.begin(), rows.end(), 0.0,
                      [](double sum, const report::SectionRow& row) { return sum + row.mean; });
  std::string text = core::format("{:<16} {:>10} {:>10} {:>10} {:>11} {:>8}\n", "section (s)", "min", "avg",
                                  "max", "imbalance", "share");
  for (const auto& row : rows) {
    if (row.most <= 0) continue;
    const auto imbalance = row.mean > 0 ? 100.0 * (row.most / row.mean - 1.0) : 0.0;
    text += core::format("{:<16} {:>10.3f} {:>10.3f} {:>10.3f} {:>9.0f} % {:>6.1f} %\n", row.name, row.least,
                         row.mean, row.most, imbalance, 100.0 * row.mean / total);
  }
  return text;
}

std::string memory_text(const plan::Plan& plan) {
  if (plan.predictions.empty())
    return "the plan says nothing of its memory: `galvatron check` on its deck does";
  std::vector<core::Row> rows = {{"pipeline rank", "for", "bytes"}};
  for (size_t p = 0; p < plan.predictions.size(); ++p) {
    const auto& stage = plan.predictions[p];
    rows.push_back({std::to_string(p), "all", core::format_bytes(stage.memory_bytes)});
    for (const auto& term : stage.memory_terms)
      rows.push_back({"", term.name, core::format_bytes(static_cast<int64_t>(term.amount))});
  }
  return "What the plan wants memory for, by its predictions\n" + core::table(rows, {1});
}

int64_t parameters_of(const spec::ModelSpec& model) {
  int64_t count = 0;
  for (const auto& layer : model.layers)
    for (const auto& p : program::parameters_of(layer))
      if (p.owner.empty()) count += p.rows * p.cols;
  return count;
}

double model_flops_per_step(const spec::ModelSpec& model, int64_t batch) {
  const auto tokens = static_cast<double>(batch) * static_cast<double>(model.seq);
  double per_token = 0;
  for (const auto& layer : model.layers) {
    for (const auto& p : program::parameters_of(layer))
      if (p.rows > 1 && layer.kind != "embedding")
        per_token += 6.0 * static_cast<double>(p.rows) * static_cast<double>(p.cols);
    // Scores and weighted sum: 2 products forward, 4 backward, of which causality needs half.
    if (layer.kind == "attention")
      per_token +=
          6.0 * static_cast<double>(layer.dims.heads * layer.dims.head_dim) * static_cast<double>(model.seq);
  }
  return per_token * tokens;
}

}  // namespace galvatron::app
