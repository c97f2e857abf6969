// Names of the sections, in the order of the end table.

#include "runtime/sections.hpp"

namespace galvatron::runtime {

std::string_view name_of(Section section) {
  static constexpr std::array<std::string_view, section_count> names = {
      "profile",       "search",    "forward",   "backward", "tensor parallel", "pipeline wait",
      "gradient sync", "optimizer", "data wait", "evaluate", "checkpoint"};
  return names[static_cast<size_t>(section)];
}

}  // namespace galvatron::runtime
