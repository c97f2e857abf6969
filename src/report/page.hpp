#pragma once
// The page: one HTML file that needs nothing else, no script and no network.

#include <string>

#include "report/values.hpp"

namespace galvatron::report {

/// "2026-11-30 12:00:00 UTC" of seconds since 1970.
std::string date_text(double time);

/// report.html. The same values give the same bytes. Below 2 MB whatever the run.
std::string page(const RunValues& values);

}  // namespace galvatron::report
