#pragma once
// Random numbers by counter: each number is a pure function of (seed, name, index). Who asks, in which order,
// and how a tensor is cut over ranks cannot change it, so every plan starts from the same weights.

#include <cstdint>
#include <span>
#include <string_view>

namespace galvatron::core {

/// The key of one named sequence: different seeds or names give unrelated sequences.
uint64_t key_of(uint64_t seed, std::string_view name);

/// 64 random bits: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
uint64_t random_bits(uint64_t key, uint64_t index);

/// Uniform in [0, 1), 53 bits.
double uniform(uint64_t key, uint64_t index);

/// Uniform integer in [0, bound); bound > 0.
int64_t uniform_below(uint64_t key, uint64_t index, int64_t bound);

/// Standard normal (Box-Muller). Numbers 2k and 2k+1 share a pair.
double normal(uint64_t key, uint64_t index);

/// out[i] = normal(key, first + i), bit for bit, at about half the time per number.
void fill_normal(uint64_t key, uint64_t first, std::span<double> out);

}  // namespace galvatron::core
