#pragma once
// Golden files: text that a person reviews in diffs. A test compares what it made with the file; with
// GALVATRON_UPDATE_GOLDEN=1 in the environment it writes the file instead.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace galvatron::test {

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// `path` is relative to the source folder.
inline void expect_golden(const std::string& path, const std::string& text) {
  const std::string full = std::string(GALVATRON_SOURCE_DIR) + "/" + path;
  if (std::getenv("GALVATRON_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(full, std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(read_file(full), text) << path << " differs; if the change is wanted, run the test with "
                                   << "GALVATRON_UPDATE_GOLDEN=1 and review the diff";
}

}  // namespace galvatron::test
