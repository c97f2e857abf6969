// Philox behind the plain functions of the header; the generator's templates stay in this file.
#include "core/random.hpp"

#include <Random123/philox.h>

#include <array>
#include <cmath>
#include <numbers>

#include "core/errors.hpp"
#include "core/fingerprint.hpp"

namespace galvatron::core {
namespace {

// The last two counter words separate the uses of one key, so that normals never reuse the bits of uniforms.
constexpr uint32_t use_bits = 0;
constexpr uint32_t use_normal = 1;
constexpr uint32_t use_key = 2;

std::array<uint64_t, 2> block(uint64_t key, uint64_t counter, uint32_t use) {
  using Generator = r123::Philox4x32;
  const Generator::key_type k = {{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)}};
  const Generator::ctr_type c = {
      {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), use, 0}};
  const auto r = Generator()(c, k);
  return {r[0] | uint64_t{r[1]} << 32, r[2] | uint64_t{r[3]} << 32};
}

double to_unit(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// Two independent standard normals.
std::array<double, 2> normal_pair(uint64_t key, uint64_t pair) {
  const auto bits = block(key, pair, use_normal);
  const double radius = std::sqrt(-2.0 * std::log(1.0 - to_unit(bits[0])));  // 1 - u is in (0, 1]
  const double angle = 2.0 * std::numbers::pi * to_unit(bits[1]);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace

uint64_t key_of(uint64_t seed, std::string_view name) {
  return block(seed, fnv1a(name), use_key)[0];
}

uint64_t random_bits(uint64_t key, uint64_t index) {
  return block(key, index / 2, use_bits)[index % 2];
}

double uniform(uint64_t key, uint64_t index) {
  return to_unit(random_bits(key, index));
}

int64_t uniform_below(uint64_t key, uint64_t index, int64_t bound) {
  GALV_ASSERT(bound > 0, bound);
  // The high word of a 64 x 64 bit product: biased by less than bound / 2^64.
  const auto product = static_cast<unsigned __int128>(random_bits(key, index)) * static_cast<uint64_t>(bound);
  return static_cast<int64_t>(product >> 64);
}

double normal(uint64_t key, uint64_t index) {
  return normal_pair(key, index / 2)[index % 2];
}

void fill_normal(uint64_t key, uint64_t first, std::span<double> out) {
  size_t i = 0;
  if (first % 2 == 1 && !out.empty()) out[i++] = normal(key, first);
  for (; i + 1 < out.size(); i += 2) {
    const auto pair = normal_pair(key, (first + i) / 2);
    out[i] = pair[0];
    out[i + 1] = pair[1];
  }
  if (i < out.size()) out[i] = normal(key, first + i);
}

}  // namespace galvatron::core
