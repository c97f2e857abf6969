#pragma once
// What the benchmarks of the message layer share: a clock, medians, and buffers.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/world.hpp"

namespace galvatron::comm::bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds of `body` on the slowest rank, begun together. Collective.
template <class Body>
double timed(World& world, Body body) {
  world.barrier();
  const double begin = now();
  body();
  double seconds = now() - begin;
  world.all_reduce(std::span(&seconds, 1), ReduceOp::max);
  return seconds;
}

inline device::TensorView view(std::vector<float>& data) {
  return device::vector(data.data(), core::DType::f32, static_cast<int64_t>(data.size()));
}

inline std::vector<int> everybody(const World& world) {
  std::vector<int> ranks;
  for (int r = 0; r < world.size(); ++r) ranks.push_back(r);
  return ranks;
}

}  // namespace galvatron::comm::bench
