// Pieces are rectangles of whole tensors, stored row by row; full-width ones are one run.

#include "program/pieces.hpp"

#include <algorithm>

namespace galvatron::program {
namespace {

void append_clipped(std::vector<Run>& runs, Run run, int64_t begin, int64_t end) {
  const auto from = std::max(run.local, begin), to = std::min(run.local + run.count, end);
  if (from >= to) return;
  runs.push_back({run.parameter, from, run.global + from - run.local, to - from});
}

}  // namespace

std::string tensor_name(const Parameter& parameter, const std::string& layer) {
  return (parameter.owner.empty() ? layer : parameter.owner) + "." + parameter.name;
}

std::vector<Run> runs_of(const ParameterGroup& group, int64_t begin, int64_t end) {
  std::vector<Run> runs;
  for (size_t i = 0; i < group.parameters.size(); ++i) {
    const auto& p = group.parameters[i];
    const auto rows = std::clamp<int64_t>(p.rows - p.row_begin, 0, p.local_rows);
    const auto cols = std::clamp<int64_t>(p.cols - p.col_begin, 0, p.local_cols);
    const auto index = static_cast<int32_t>(i);
    if (cols == p.local_cols && cols == p.cols) {
      append_clipped(runs, {index, p.offset, p.row_begin * p.cols, rows * cols}, begin, end);
      continue;
    }
    for (int64_t row = 0; row < rows; ++row)
      append_clipped(runs,
                     {index, p.offset + row * p.local_cols, (p.row_begin + row) * p.cols + p.col_begin, cols},
                     begin, end);
  }
  return runs;
}

}  // namespace galvatron::program
