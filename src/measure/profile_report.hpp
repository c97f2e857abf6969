#pragma once
// A whole profile in words and tables: the machine, what computing and talking cost each other, what was
// counted, and what the budget covered.

#include <string>
#include <vector>

#include "cost/profile.hpp"

namespace galvatron::measure {

/// Times of matrix products and collectives at the same time over their times alone.
std::string interference_table(const cost::HardwareProfile& profile);

/// How late the last member of a group is after so many seconds of computing, also as a part of these.
std::string lateness_table(const cost::HardwareProfile& profile);

/// Optimizer, gradient norm and loader: what a parameter or a token of the longest measured row costs.
std::string cost_lines(const cost::ModelProfile& profile);

/// Events per token by kind of layer and phase; the first row is the head. Only the head where nothing was
/// counted.
std::vector<std::vector<std::string>> counter_rows(const cost::ModelProfile& profile);

/// The same as text, with what is missing and why.
std::string counter_table(const cost::ModelProfile& profile);

/// Every step: its curve's ends and how many points lie between.
std::string step_table(const cost::ModelProfile& profile);

/// All of it but the steps.
std::string profile_report(const cost::Profile& profile);

}  // namespace galvatron::measure
