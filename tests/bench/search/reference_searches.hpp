#pragma once
// The recorded searches of the Python Galvatron 3.0 as a part of the search benchmark.

#include <cstdint>
#include <string>

namespace galvatron::bench {

struct ReferenceReport {
  int64_t rows = 0;
  int64_t equal_or_better = 0;  ///< samples per second at least those recorded
  double worst_ms = 0;          ///< of both objectives together
  double min_speedup = 0;       ///< over the recorded times, where there are any
  int64_t labels = 0, cut = 0;
  std::string table;
};

/// Runs every row of tests/golden/galvatron3/searches.txt, whole.
ReferenceReport reference_searches();

}  // namespace galvatron::bench
