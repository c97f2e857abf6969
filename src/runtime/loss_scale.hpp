#pragma once
// Dynamic loss scaling of fp16 (Micikevicius et al., arXiv 1710.03740): gradients are made larger so that
// small ones do not vanish; when one overflows, the step is skipped and the factor halves.

#include <cstdint>

#include "deck/sections.hpp"

namespace galvatron::runtime {

/// A regular value; part of a checkpoint. Without fp16 it is always 1.
struct LossScale {
  double factor = 1.0;
  int64_t steps_without_overflow = 0;
  int64_t skipped_in_a_row = 0;
  int64_t skipped = 0;  ///< in all

  bool operator==(const LossScale&) const = default;
};

/// What a run of this precision starts with.
LossScale initial_loss_scale(const deck::TrainSection& train);

/// Whether a non-finite gradient means a factor that is too large, and not an error.
bool scales_loss(const deck::TrainSection& train);

enum class Overflow : uint8_t { none, found };

/// The scale of the next step. It doubles after `loss_scale_growth` steps without overflow, up to 2^24, and
/// never falls below 1.
LossScale after_step(const LossScale& scale, Overflow overflow, const deck::TrainSection& train);

}  // namespace galvatron::runtime
