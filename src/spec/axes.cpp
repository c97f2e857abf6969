// The one table of axes, and how sets of them print.

#include "spec/axes.hpp"

#include "core/errors.hpp"

namespace galvatron::spec {

const std::array<AxisRow, 6>& axis_table() {
  static constexpr std::array<AxisRow, 6> table = {{
      {Axis::tp, "tp", "weights: heads, ffn columns and rows, vocabulary"},
      {Axis::sp, "sp", "positions; inside attention heads (Ulysses)"},
      {Axis::cp, "cp", "positions, ring attention"},
      {Axis::dp, "dp", "samples"},
      {Axis::ep, "ep", "experts"},
      {Axis::tie, "tie", "first and last stage, for parameters that both hold"},
  }};
  return table;
}

std::string_view name_of(Axis axis) {
  return axis_table()[static_cast<size_t>(axis)].key;
}

std::string to_string(AxisSet set) {
  std::string text;
  for (const auto& row : axis_table()) {
    if (!set.contains(row.axis)) continue;
    if (!text.empty()) text += '+';
    text += row.key;
  }
  return text.empty() ? "none" : text;
}

}  // namespace galvatron::spec
