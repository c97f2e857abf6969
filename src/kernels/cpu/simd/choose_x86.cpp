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

const Simd& best_simd() {
  if (__builtin_cpu_supports("x86-64-v4")) return x86_64_v4::table();
  if (__builtin_cpu_supports("x86-64-v3")) return x86_64_v3::table();
  return native::table();
}

}  // namespace galvatron::kernels
