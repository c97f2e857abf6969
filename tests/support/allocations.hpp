#pragma once
// How often a piece of work asks for memory. A program that links this has another global operator new; each
// call is told apart by who made it: this executable, or a library that it loads (oneDNN, MPI). What the C++
// library and the formatting library ask for on behalf of the executable is the executable's. Memory that C
// libraries take from malloc is not seen.

#include <cstdint>
#include <string>
#include <vector>

namespace galvatron::testing {

struct Allocations {
  int64_t ours = 0;    ///< asked for by this executable
  int64_t others = 0;  ///< asked for by a shared library for itself
  /// Who asked, innermost caller first, for the first few of ours: names of functions where the executable
  /// exports them (ENABLE_EXPORTS), else offsets for addr2line.
  std::vector<std::string> callers = {};
};

/// Counts until the matching stop; all threads.
void start_counting();
Allocations stop_counting();

}  // namespace galvatron::testing
