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

int64_t count_runs(const ParameterGroup& group, int64_t begin, int64_t end) {
  int64_t runs = 0;
  for (const auto& p : group.parameters) {
    const auto rows = std::clamp<int64_t>(p.rows - p.row_begin, 0, p.local_rows);
    const auto cols = std::clamp<int64_t>(p.cols - p.col_begin, 0, p.local_cols);
    const bool whole = cols == p.local_cols && cols == p.cols;
    // Runs of `length` elements, `stride` apart; the first and the last that [begin, end) meets.
    const auto length = whole ? rows * cols : cols, stride = whole ? rows * cols : p.local_cols;
    if (length == 0 || rows == 0 || end <= begin) continue;
    const auto count = whole ? 1 : rows;
    const auto before = begin - p.offset - length;  // runs that begin here or earlier end before `begin`
    const auto first = before < 0 ? 0 : before / stride + 1;
    const auto last = end <= p.offset ? -1 : (end - p.offset - 1) / stride;
    runs += std::max<int64_t>(std::min(last, count - 1) - first + 1, 0);
  }
  return runs;
}

}  // namespace galvatron::program
