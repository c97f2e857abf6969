#pragma once
// The last step of trace.json, for the report's timeline.

#include <filesystem>
#include <vector>

#include "report/values.hpp"

namespace galvatron::app {

/// A row per rank; empty without a trace.
std::vector<report::TimelineRow> last_traced_step(const std::filesystem::path& file);

}  // namespace galvatron::app
