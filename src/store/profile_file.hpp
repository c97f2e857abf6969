#pragma once
// profile.h5: what was measured, kept for the next run and for anyone with an HDF5 reader. docs/files.md has
// the schema. Rank 0 writes and reads; the values travel by other ways.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cost/profile.hpp"

namespace galvatron::store {

/// Samples of one point, in the order in which they were taken, in seconds.
struct RawSeries {
  std::string of;     ///< what was timed, in words
  double x = 0;       ///< its size, in the table's unit
  int32_t rank = -1;  ///< who timed it; −1 = the slowest of all ranks, sample by sample
  std::vector<double> samples;
  bool operator==(const RawSeries&) const = default;
};

/// Of one part of the measurement.
struct RawTable {
  std::string x_unit;
  std::string meaning;
  std::vector<RawSeries> series;
  bool operator==(const RawTable&) const = default;
};

/// By part, e.g. "links". For later study: nothing that is priced is read from them.
using RawTables = std::map<std::string, RawTable>;

/// Local. Written beside `path`, sealed, then renamed. Throws ResourceError (environment) when the disk
/// fails.
void write_profile(const std::filesystem::path& path, const cost::Profile& profile, const RawTables& raw);

/// Local. Throws UserError (usage) naming the file when it is damaged or not a profile of this program.
cost::Profile read_profile(const std::filesystem::path& path);
RawTables read_raw_samples(const std::filesystem::path& path);

}  // namespace galvatron::store
