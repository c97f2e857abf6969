#pragma once
// A run folder → what report.html shows, → report.html.

#include <filesystem>

#include "core/log.hpp"
#include "report/values.hpp"

namespace galvatron::app {

/// Whether profile.h5 is opened. Not while another thread of the process may be inside the HDF5 library.
enum class ProfileUse { read, skip };

/// As far as the folder knows; files that are not there or cannot be read are left out.
report::RunValues read_run(const std::filesystem::path& folder, ProfileUse profile = ProfileUse::read);

/// Writes report.html into the folder. A failure costs the report and a warning, never the run.
void write_report(const std::filesystem::path& folder, core::Log& log, ProfileUse profile = ProfileUse::read);

}  // namespace galvatron::app
