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

/// Samples as they were taken, for later study; reading a profile ignores them.
struct RawSamples {
  std::string unit;
  std::string meaning;
  std::vector<double> values;
};

/// Local. Written beside `path`, sealed, then renamed. Names in `raw` become datasets under /raw. Throws
/// ResourceError (environment) when the disk fails.
void write_profile(const std::filesystem::path& path, const cost::Profile& profile,
                   const std::map<std::string, RawSamples>& raw);

/// Local. Throws UserError (usage) naming the file when it is damaged or not a profile of this program.
cost::Profile read_profile(const std::filesystem::path& path);

}  // namespace galvatron::store
