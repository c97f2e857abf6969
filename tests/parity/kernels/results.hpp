#pragma once
// How results of two runs of a kernel call are compared.

#include <algorithm>
#include <cstring>

#include "parity/kernels/workbench.hpp"

namespace galvatron::kernels::test {

inline double largest(const std::vector<double>& values) {
  double most = 0;
  for (const auto value : values) most = std::max(most, std::abs(value));
  return most;
}

/// Half of the distance of neighbours, relative to their size.
inline double rounding_of(DType dtype) {
  if (dtype == DType::bf16) return 0x1p-8;
  return dtype == DType::f16 ? 0x1p-11 : 0.0;
}

inline void expect_near(const std::vector<Result>& got, const std::vector<Result>& expected,
                        double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t r = 0; r < got.size(); ++r) {
    ASSERT_EQ(got[r].values.size(), expected[r].values.size()) << got[r].name;
    const auto bound = (tolerance + rounding_of(got[r].dtype)) * std::max(largest(expected[r].values), 1e-3);
    for (size_t i = 0; i < got[r].values.size(); ++i) {
      ASSERT_LE(std::abs(got[r].values[i] - expected[r].values[i]), bound)
          << got[r].name << "[" << i << "]: expected " << expected[r].values[i] << ", got "
          << got[r].values[i];
    }
  }
}

inline void expect_same_bits(const std::vector<Result>& first, const std::vector<Result>& second) {
  for (size_t r = 0; r < first.size(); ++r) {
    for (size_t i = 0; i < first[r].values.size(); ++i) {
      ASSERT_EQ(std::memcmp(&first[r].values[i], &second[r].values[i], sizeof(double)), 0)
          << first[r].name << "[" << i << "]: " << first[r].values[i] << " then " << second[r].values[i];
    }
  }
}

}  // namespace galvatron::kernels::test
