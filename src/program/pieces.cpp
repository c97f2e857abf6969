// Pieces are rectangles of whole tensors, stored row by row; full-width ones are one row.

#include "program/pieces.hpp"

#include <algorithm>

namespace galvatron::program {
namespace {

/// Of all repetitions of `run` those elements that lie in [begin, end) of the flat buffer.
void append_clipped(std::vector<Run>& runs, const Run& run, int64_t begin, int64_t end) {
  if (run.elements() <= 0 || begin >= end) return;
  // Repetitions `first` to `last` meet the range; the two outermost perhaps in part.
  const auto stride = std::max<int64_t>(run.local_stride, 1);
  const auto before = begin - run.local - run.count;  // what begins here or earlier ends before `begin`
  const auto first = before < 0 ? 0 : before / stride + 1;
  const auto last = end <= run.local ? -1 : std::min(run.times - 1, (end - run.local - 1) / stride);
  const auto append = [&](int64_t from, int64_t times) {
    if (times <= 0) return;
    Run part = run;
    part.times = times;
    part.local += from * run.local_stride;
    part.global += from * run.global_stride;
    const auto skip = std::max<int64_t>(begin - part.local, 0);
    part.count = std::min(part.count, end - part.local) - skip;
    part.local += skip;
    part.global += skip;
    if (times == 1) part.local_stride = part.global_stride = 0;
    if (part.count > 0) runs.push_back(part);
  };
  const auto place = [&](int64_t time) { return run.local + time * run.local_stride; };
  if (first >= last) {
    append(first, last - first + 1);
    return;
  }
  const int64_t head = place(first) < begin ? 1 : 0, tail = place(last) + run.count > end ? 1 : 0;
  append(first, head);
  append(first + head, last - first + 1 - head - tail);
  append(last, tail);
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
    Run run{static_cast<int32_t>(i), p.offset, p.row_begin * p.cols + p.col_begin, cols};
    if (cols == p.local_cols && cols == p.cols) {
      run.count = rows * cols;
    } else {
      run.times = rows;
      run.local_stride = p.local_cols;
      run.global_stride = p.cols;
    }
    append_clipped(runs, run, begin, end);
  }
  return runs;
}

}  // namespace galvatron::program
