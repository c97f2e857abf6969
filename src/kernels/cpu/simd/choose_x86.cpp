// For a build that must run on any x86-64 processor: ask this one what it has.

#include "kernels/cpu/simd/simd.hpp"

namespace galvatron::kernels {

namespace native {
const Simd& table();
}
namespace x86_64_v3 {
const Simd& table();
}
namespace x86_64_v4 {
const Simd& table();
}

SimdLevels available_simd() {
  SimdLevels levels{};
  if (__builtin_cpu_supports("x86-64-v4")) levels.table[levels.count++] = &x86_64_v4::table();
  if (__builtin_cpu_supports("x86-64-v3")) levels.table[levels.count++] = &x86_64_v3::table();
  levels.table[levels.count++] = &native::table();
  return levels;
}

}  // namespace galvatron::kernels
