#pragma once
// What this process has taken so far.

#include <sys/resource.h>

#include <cstdint>

namespace galvatron::bench {

/// The most memory that it held at once.
inline int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

}  // namespace galvatron::bench
