#pragma once
// Small things that the tests of the message layer share: vectors as views, the groups to try, and contents
// whose every element says where it came from.

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "comm/mpi/mpi_world.hpp"
#include "comm/world.hpp"
#include "core/dtype.hpp"
#include "device/tensor.hpp"

namespace galvatron::comm::test {

template <class T>
constexpr core::DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return core::DType::f32;
  if constexpr (std::is_same_v<T, double>) return core::DType::f64;
  if constexpr (std::is_same_v<T, int32_t>) return core::DType::i32;
  if constexpr (std::is_same_v<T, int64_t>) return core::DType::i64;
  if constexpr (std::is_same_v<T, uint8_t>) return core::DType::u8;
}

template <class T>
device::TensorView view(std::vector<T>& data) {
  return device::vector(data.data(), dtype_of<T>(), static_cast<int64_t>(data.size()));
}

/// A vector of 16-bit reals, which C++20 has no type for.
inline device::TensorView half_view(std::vector<uint16_t>& data, core::DType dtype) {
  return device::vector(data.data(), dtype, static_cast<int64_t>(data.size()));
}

/// Element i of what `rank` holds: small enough to be exact in every type, different for neighbours and for
/// ranks.
template <class T>
T pattern(int rank, int64_t i) {
  return static_cast<T>((rank * 31 + i * 7 + i / 64) % 251);
}

template <class T>
std::vector<T> filled(int rank, int64_t count) {
  std::vector<T> data(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) data[static_cast<size_t>(i)] = pattern<T>(rank, i);
  return data;
}

/// Values whose sum depends on the order of adding.
template <class T>
std::vector<T> rough(int rank, int64_t count) {
  std::vector<T> data(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    data[static_cast<size_t>(i)] = static_cast<T>(
        (rank % 2 ? -1.0 : 1.0) * (1.0 + i) * (rank + 1) / (3.0 + i % 17) + (rank % 3 == 0 ? 1e7 : 1e-3));
  return data;
}

/// Disjoint groups that cover the world: everybody; odd and even ranks; everybody in reverse; each alone.
inline std::vector<std::vector<std::vector<int>>> partitions(int size) {
  std::vector<int> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  std::vector<int> reverse(all.rbegin(), all.rend());
  std::vector<std::vector<int>> alternate(size > 1 ? 2 : 1);
  std::vector<std::vector<int>> alone;
  for (const int rank : all) {
    alternate[static_cast<size_t>(rank) % alternate.size()].push_back(rank);
    alone.push_back({rank});
  }
  return {{all}, alternate, {reverse}, alone};
}

inline const std::vector<int>& group_of(const std::vector<std::vector<int>>& partition, int rank) {
  for (const auto& group : partition)
    for (const int member : group)
      if (member == rank) return group;
  return partition.front();
}

}  // namespace galvatron::comm::test
