// Stands in for CUDA's header of the same name on the host.

#pragma once

#include "core/half.hpp"

struct __nv_bfloat16 {
  uint16_t bits;
};

inline float __bfloat162float(__nv_bfloat16 x) {
  return galvatron::core::bf16_to_f32(x.bits);
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  return {galvatron::core::f32_to_bf16(x)};
}
