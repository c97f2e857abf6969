// Hardware tables out of the numbers of files, and the fits behind them.
#include "cost/galvatron3/tables.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::cost::galvatron3 {
namespace {

constexpr size_t fewest_sizes = 8;  ///< for a line over message sizes

[[noreturn]] void missing(const std::string& file, const std::string& key) {
  throw core::UserError(core::format("{}: key '{}' is missing", file, key));
}

double positive(const Numbers& numbers, const std::string& key) {
  const double value = numbers.at(key);
  if (value > 0) return value;
  throw core::UserError(core::format("{}: key '{}': {} is not above 0", numbers.file, key, value));
}

/// "allreduce_size_8_16MB_time": the 16, for the given stem; 0 when the key is another.
double size_in(const std::string& key, const std::string& stem) {
  const std::string ending = "MB_time";
  if (!key.starts_with(stem) || !key.ends_with(ending) || key.size() <= stem.size() + ending.size()) return 0;
  const auto digits = key.substr(stem.size(), key.size() - stem.size() - ending.size());
  if (digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos) return 0;
  return std::stod(digits);
}

/// Nothing when the file has no such group; too few sizes are an error.
void read_times(const Numbers& file, const std::string& operation, int64_t ranks, double share,
                std::map<int64_t, MessageTimes>& out) {
  const auto stem = core::format("{}_size_{}_", operation, ranks);
  MessageTimes times;
  for (const auto& [key, value] : file.values)
    if (const double size = size_in(key, stem); size > 0) times.measured[size] = share * positive(file, key);
  if (times.measured.empty()) return;
  if (times.measured.size() < fewest_sizes)
    throw core::UserError(core::format("{}: keys '{}…MB_time': {} sizes, a line needs {}", file.file, stem,
                                       times.measured.size(), fewest_sizes));
  times.line = line_through({times.measured.begin(), times.measured.end()});
  out[ranks] = times;
}

const MessageTimes& times_over(const std::map<int64_t, MessageTimes>& times, int64_t ranks,
                               const std::string& file, const char* operation) {
  const auto found = times.find(ranks);
  if (found == times.end()) missing(file, core::format("{}_size_{}_…MB_time", operation, ranks));
  return found->second;
}

}  // namespace

const double* Numbers::find(const std::string& key) const {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const auto& entry) { return entry.first == key; });
  return found == values.end() ? nullptr : &found->second;
}

double Numbers::at(const std::string& key) const {
  const double* value = find(key);
  if (value == nullptr) missing(file, key);
  return *value;
}

Line line_through(const std::vector<std::pair<double, double>>& points) {
  double x = 0, y = 0;
  for (const auto& [px, py] : points) x += px, y += py;
  x /= static_cast<double>(points.size());
  y /= static_cast<double>(points.size());
  double xy = 0, xx = 0;
  for (const auto& [px, py] : points) xy += (px - x) * (py - y), xx += (px - x) * (px - x);
  GALV_ASSERT(xx > 0, points.size());
  const double slope = xy / xx;
  return {slope, y - slope * x};
}

double MessageTimes::at(double megabytes) const {
  const auto found = measured.find(megabytes);
  return found == measured.end() ? line.at(megabytes) : found->second;
}

double ByDegree::at(int64_t degree) const {
  const auto found = values.find(degree);
  if (found == values.end()) throw core::UserError(core::format("{}: nothing for degree {}", origin, degree));
  return found->second;
}

const MessageTimes& Hardware::gather_over(int64_t ranks) const {
  return times_over(all_gather, ranks, collectives_file, "allreduce");
}

const MessageTimes& Hardware::exchange_over(int64_t ranks) const {
  return times_over(all_to_all, ranks, collectives_file, "all2all");
}

Hardware hardware_of(const HardwareFiles& files, int64_t world) {
  Hardware hardware;
  const auto& reduce = files.all_reduce;
  hardware.strided.origin = hardware.consecutive.origin = reduce.file + ": allreduce_size_…";
  for (int64_t ranks = world; ranks > 1; ranks /= 2) {
    const double near = 1 / positive(reduce, core::format("allreduce_size_{}_consec_1", ranks));
    hardware.consecutive.values[ranks] = near;
    hardware.strided.values[ranks] =
        ranks == world ? near : 1 / positive(reduce, core::format("allreduce_size_{}_consec_0", ranks));
  }
  hardware.consecutive.values[1] = hardware.strided.values[1] = 0;  // nothing to send
  hardware.point_to_point.origin = files.point_to_point.file + ": pp_size_…";
  for (int64_t stages = 2; stages <= world; stages *= 2)
    hardware.point_to_point.values[stages] =
        1 / positive(files.point_to_point, core::format("pp_size_{}", stages));
  hardware.overlap = positive(files.overlap, "overlap_coe");
  if (hardware.overlap < 1)
    throw core::UserError(
        core::format("{}: key 'overlap_coe': {} is below 1", files.overlap.file, hardware.overlap));
  hardware.collectives_file = files.collectives.file;
  for (int64_t ranks = 2; ranks <= world; ranks *= 2) {
    // Half an all-reduce is an all-gather or a reduce-scatter: the file has neither.
    read_times(files.collectives, "allreduce", ranks, 0.5, hardware.all_gather);
    read_times(files.collectives, "all2all", ranks, 1.0, hardware.all_to_all);
  }
  return hardware;
}

}  // namespace galvatron::cost::galvatron3
