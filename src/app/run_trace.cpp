// Only actions are read: forwards, backwards, and what happens once a step. Layers and messages stay in the
// trace.

#include "app/run_trace.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/format.hpp"
#include "store/json_lines.hpp"

namespace galvatron::app {
namespace {

constexpr int64_t most_slices = int64_t{1} << 20;

/// Waits for messages end what looks like work: an action begins when its message is there.
using Waits = std::map<int64_t, std::vector<std::pair<double, double>>>;  // per rank, microseconds

Waits waits_of(const std::filesystem::path& file) {
  Waits waits;
  for (const auto& slice : store::read_json_lines(file, most_slices, "\"name\":\"receive").lines)
    waits[static_cast<int64_t>(slice.number("pid"))].emplace_back(slice.number("ts"),
                                                                  slice.number("ts") + slice.number("dur"));
  return waits;
}

/// When the work of an action begins.
double work_begin(const Waits& waits, int64_t rank, double begin, double end) {
  const auto found = waits.find(rank);
  if (found == waits.end()) return begin;
  const auto& list = found->second;
  const auto it = std::lower_bound(list.begin(), list.end(), std::pair(begin, 0.0));
  return it != list.end() && it->second <= end ? it->second : begin;
}

/// "forward 3" → 3.
int32_t number_of(const std::string& name) {
  const auto blank = name.find(' ');
  return blank == std::string::npos ? -1 : static_cast<int32_t>(std::atoi(name.c_str() + blank));
}

report::BarKind kind_of(const std::string& name) {
  if (name.starts_with("forward ")) return report::BarKind::forward;
  if (name.starts_with("backward ")) return report::BarKind::backward;
  return report::BarKind::once;
}

struct Span {
  double begin = 0, end = 0;  // microseconds
};

}  // namespace

std::vector<report::TimelineRow> last_traced_step(const std::filesystem::path& file) {
  const auto slices = store::read_json_lines(file, most_slices, "\"cat\":\"action\"").lines;
  int32_t last = 0;
  for (const auto& slice : slices)
    if (const auto name = slice.text("name"); name.starts_with("step "))
      last = std::max(last, number_of(name));
  std::map<int64_t, Span> spans;  // of the step, per rank
  for (const auto& slice : slices)
    if (slice.text("name") == core::format("step {}", last))
      spans[static_cast<int64_t>(slice.number("pid"))] = {slice.number("ts"),
                                                          slice.number("ts") + slice.number("dur")};
  if (spans.empty()) return {};
  double zero = spans.begin()->second.begin;
  for (const auto& [rank, span] : spans) zero = std::min(zero, span.begin);
  const auto waits = waits_of(file);
  std::map<int64_t, report::TimelineRow> rows;
  for (const auto& slice : slices) {
    const auto name = slice.text("name");
    const auto rank = static_cast<int64_t>(slice.number("pid"));
    const double begin = slice.number("ts"), end = begin + slice.number("dur");
    const auto span = spans.find(rank);
    if (span == spans.end() || name.starts_with("step ")) continue;
    if (begin < span->second.begin || end > span->second.end + 1e-3) continue;
    const auto kind = kind_of(name);
    const auto micro = kind == report::BarKind::once ? -1 : number_of(name);
    const double work = work_begin(waits, rank, begin, end);
    rows[rank].bars.push_back({kind, micro, (work - zero) * 1e-6, (end - zero) * 1e-6});
  }
  std::vector<report::TimelineRow> out;
  for (auto& [rank, row] : rows) {
    row.name = core::format("rank {}", rank);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace galvatron::app
