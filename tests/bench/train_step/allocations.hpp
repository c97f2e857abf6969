#pragma once
// How often a piece of work asks for memory. The benchmark replaces the global operator new; each call is
// told apart by who made it: code of this executable, or a library that it loads (math, MPI).

#include <cstdint>

namespace galvatron::bench {

struct Allocations {
  int64_t ours = 0;    ///< called from this executable
  int64_t others = 0;  ///< called from a shared library
};

/// Counts until the matching stop; all threads.
void start_counting();
Allocations stop_counting();

}  // namespace galvatron::bench
