#pragma once
// How the rows of a call are dealt to threads. Every split is a pure function of sizes and threads, so that a
// run repeats its bits.

#include <algorithm>
#include <array>
#include <cstdint>

namespace galvatron::kernels {

/// Elements of one cache line of fp32: borders between threads lie there.
inline constexpr int64_t cache_line = 16;

/// Below this many elements a call is done before other threads have woken up.
inline constexpr int64_t parallel_from = 1 << 14;

inline int threads_for(int threads, int64_t elements) {
  return elements < parallel_from ? 1 : threads;
}

/// The share of `part` out of `parts` of [0, n), borders at multiples of `unit`.
struct Share {
  int64_t begin, end;
};
inline Share share_of(int64_t n, int64_t unit, int64_t part, int64_t parts) {
  const auto units = (n + unit - 1) / unit;
  return {std::min(n, units * part / parts * unit), std::min(n, units * (part + 1) / parts * unit)};
}

/// body(begin, end, part) for one contiguous share per thread. The body does not throw.
template <class Body>
void parallel_shares(int threads, int64_t n, int64_t unit, Body body) {
  if (threads == 1) {
    if (n > 0) body(int64_t{0}, n, 0);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    const auto share = share_of(n, unit, part, threads);
    if (share.begin < share.end) body(share.begin, share.end, part);
  }
}

/// Σ body(begin, end) over fixed chunks of [0, n), added in order: the same bits for any number of threads.
template <class Body>
double ordered_sum(int threads, int64_t n, int64_t unit, Body body) {
  constexpr int64_t most_chunks = 128;
  std::array<double, most_chunks> sums{};
  const auto chunks = std::clamp<int64_t>((n + unit - 1) / unit, 1, most_chunks);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const auto share = share_of(n, unit, chunk, chunks);
    if (share.begin < share.end) sums[static_cast<size_t>(chunk)] = body(share.begin, share.end);
  }
  double total = 0;
  for (const auto sum : sums) total += sum;
  return total;
}

}  // namespace galvatron::kernels
