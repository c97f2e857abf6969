// Stands in for CUDA's header of the same name on the host.

#pragma once

#include "core/half.hpp"

struct __half {
  uint16_t bits;
};

inline float __half2float(__half x) {
  return galvatron::core::f16_to_f32(x.bits);
}
inline __half __float2half_rn(float x) {
  return {galvatron::core::f32_to_f16(x)};
}
