#pragma once
// The link map in words: how much of it there is, on which clock, what changed since an earlier one, and
// links as a table for other programs.

#include <string>
#include <vector>

#include "cost/profile.hpp"

namespace galvatron::measure {

/// Pairs, rounds, sizes that the budget did not reach, and the resolution of the timer. Empty where the
/// profile does not say.
std::string link_coverage_text(const cost::HardwareProfile& profile);

/// Links that changed since the profile it was compared with, or that none did, a line each; none when there
/// was no such profile.
std::vector<std::string> link_change_lines(const cost::HardwareProfile& profile);

/// The same as text.
std::string link_changes_text(const cost::HardwareProfile& profile);

/// A line per link, pass and size, with a header: from, to, hosts, path, pass, bytes, the statistics of the
/// seconds, bytes per second of the median, and the fit there.
std::string links_csv(const cost::HardwareProfile& profile);

}  // namespace galvatron::measure
