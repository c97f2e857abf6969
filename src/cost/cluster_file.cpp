// Reads the figures through the deck's own reader of TOML; the table below is the whole format.
#include "cost/cluster_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "deck/raw.hpp"
#include "deck/suggest.hpp"

namespace galvatron::cost {
namespace {

using core::format;

/// The numbers of a file, as they stand in it.
struct Figures {
  double gemm_flops = 0, memory_bandwidth = 0;
  double same_latency = 0, same_bandwidth = 0;
  double across_latency = 0, across_bandwidth = 0;
  double reserve = 0;
};

struct Key {
  std::string_view section, key;
  double Figures::*figure;
  bool may_be_zero;
};

constexpr std::array<Key, 7> keys = {{
    {"compute", "gemm_flops", &Figures::gemm_flops, false},
    {"compute", "memory_bytes_per_second", &Figures::memory_bandwidth, false},
    {"same_node", "latency_seconds", &Figures::same_latency, true},
    {"same_node", "bytes_per_second", &Figures::same_bandwidth, false},
    {"across", "latency_seconds", &Figures::across_latency, true},
    {"across", "bytes_per_second", &Figures::across_bandwidth, false},
    {"memory", "reserve_bytes", &Figures::reserve, true},
}};

std::string unknown(const deck::Entry& entry) {
  std::vector<std::string> near;
  for (const Key& key : keys)
    if (key.section == entry.section) near.emplace_back(key.key);
  if (near.empty()) return format("[{}] is no section of a cluster file", entry.section);
  const std::string meant = deck::nearest(entry.key, near);
  return format("[{}] unknown key '{}'{}", entry.section, entry.key,
                meant.empty() ? "" : format(" (did you mean '{}'?)", meant));
}

/// α + bytes / β as a curve: exact for a straight line, whatever the second point.
Curve line(double latency, double bandwidth) {
  constexpr double far = 1e9;
  return {{{.x = 0, .seconds = latency}, {.x = far, .seconds = latency + far / bandwidth}}};
}

HardwareProfile profile_of(const Figures& figures, const std::string& file) {
  HardwareProfile profile;
  profile.nominal = true;
  profile.gemm_flops = {figures.gemm_flops};
  profile.memory_bytes_per_second = {figures.memory_bandwidth};
  profile.transfer_same_node = line(figures.same_latency, figures.same_bandwidth);
  profile.transfer_across = line(figures.across_latency, figures.across_bandwidth);
  profile.reserve_bytes = static_cast<int64_t>(figures.reserve);
  profile.conditions["figures"] = file;
  return profile;
}

}  // namespace

HardwareProfile hardware_from_toml(std::string_view text, const std::string& file) {
  const deck::Source source = deck::read_toml(text);
  std::vector<deck::Problem> problems = source.problems;
  Figures figures;
  std::array<bool, keys.size()> given{};
  for (const deck::Entry& entry : source.entries) {
    const auto key = std::find_if(keys.begin(), keys.end(), [&](const Key& k) {
      return k.section == entry.section && k.key == entry.key;
    });
    if (key == keys.end()) {
      problems.push_back({entry.place, unknown(entry)});
      continue;
    }
    given[static_cast<size_t>(key - keys.begin())] = true;
    const bool whole = entry.value.kind == deck::Raw::Kind::integer;
    const double value = whole ? static_cast<double>(entry.value.integer) : entry.value.real;
    const bool good = (whole || entry.value.kind == deck::Raw::Kind::real) && std::isfinite(value) &&
                      value < 1e18 && (key->may_be_zero ? value >= 0 : value > 0);
    if (good)
      figures.*(key->figure) = value;
    else
      problems.push_back(
          {entry.place, format("[{}] {} must be a number {} 0, not {}", entry.section, entry.key,
                               key->may_be_zero ? "of at least" : "above", entry.value.describe())});
  }
  for (size_t i = 0; i < keys.size(); ++i)
    if (!given[i]) problems.push_back({{}, format("[{}] '{}' is missing", keys[i].section, keys[i].key)});
  if (problems.empty()) return profile_of(figures, file);
  std::stable_sort(problems.begin(), problems.end(),
                   [](const auto& a, const auto& b) { return a.place < b.place; });
  std::vector<std::string> lines;
  for (const auto& [place, problem] : problems)
    lines.push_back(place.line > 0 ? format("{}:{}: {}", file, place.line, problem)
                                   : format("{}: {}", file, problem));
  throw core::UserError(core::join(lines, "\n"));
}

}  // namespace galvatron::cost
