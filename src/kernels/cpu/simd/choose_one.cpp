// For a build for one known processor (GALVATRON_MARCH), or for a processor without levels: there is nothing
// to choose.

#include "kernels/cpu/simd/simd.hpp"

namespace galvatron::kernels {

namespace native {
const Simd& table();
}

SimdLevels available_simd() {
  return {{&native::table(), nullptr, nullptr}, 1};
}

}  // namespace galvatron::kernels
