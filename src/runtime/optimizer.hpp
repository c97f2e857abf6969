#pragma once
// Learning rate and clipping: scalars of one step.

#include <cstdint>

#include "deck/sections.hpp"
#include "runtime/step_player.hpp"

namespace galvatron::runtime {

/// Learning rate of step i (from 0): lr·(i+1)/warmup while i < warmup, then cosine, linear or no decay,
/// reaching min_lr at `steps`.
double learning_rate(const deck::TrainSection& train, int64_t step);

/// min(1, clip / (norm + 1e-6)); 1 when clip is 0.
double clip_factor(double norm, double clip);

UpdateSettings update_settings(const deck::TrainSection& train, int64_t step, double gradient_norm);

}  // namespace galvatron::runtime
