// A block that stays in the first-level cache is summed over all parts before the next one starts: each part
// is read once, the result is written once, and writing after reading makes it harmless that the result lies
// on one of the parts.
#include "comm/reduction.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/errors.hpp"

namespace galvatron::comm {
namespace {

constexpr int64_t block = 1024;

template <class T>
void add(T* __restrict sum, const T* __restrict part, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sum[i] += part[i];
}

template <class T>
void take_greater(T* __restrict greatest, const T* __restrict part, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const bool keep = greatest[i] > part[i] || greatest[i] != greatest[i];  // a NaN stays
    greatest[i] = keep ? greatest[i] : part[i];
  }
}

template <class T>
void reduce(std::span<const std::byte* const> parts, std::byte* out, int64_t count, ReduceOp op) {
  std::array<T, block> partial;
  for (int64_t begin = 0; begin < count; begin += block) {
    const auto n = std::min(block, count - begin);
    const auto offset = begin * static_cast<int64_t>(sizeof(T));
    std::memcpy(partial.data(), parts[0] + offset, static_cast<size_t>(n) * sizeof(T));
    for (size_t p = 1; p < parts.size(); ++p) {
      const auto* part = reinterpret_cast<const T*>(parts[p] + offset);
      if (op == ReduceOp::sum) {
        add(partial.data(), part, n);
      } else {
        take_greater(partial.data(), part, n);
      }
    }
    std::memcpy(out + offset, partial.data(), static_cast<size_t>(n) * sizeof(T));
  }
}

}  // namespace

void reduce_in_order(std::span<const std::byte* const> parts, std::byte* out, int64_t count,
                     core::DType dtype, ReduceOp op) {
  if (dtype == core::DType::f64) {
    reduce<double>(parts, out, count, op);
  } else {
    GALV_ASSERT(dtype == core::DType::f32, dtype);
    reduce<float>(parts, out, count, op);
  }
}

}  // namespace galvatron::comm
