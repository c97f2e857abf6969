// Powers of two only, so that scaling never rounds.

#include "runtime/loss_scale.hpp"

#include <algorithm>

namespace galvatron::runtime {
namespace {

constexpr double largest = 1 << 24, smallest = 1.0;

}  // namespace

bool scales_loss(const deck::TrainSection& train) {
  return train.precision == "fp16";
}

LossScale initial_loss_scale(const deck::TrainSection& train) {
  LossScale scale;
  if (scales_loss(train)) scale.factor = std::min(train.loss_scale, largest);
  return scale;
}

LossScale after_step(const LossScale& scale, Overflow overflow, const deck::TrainSection& train) {
  if (!scales_loss(train)) return scale;
  auto next = scale;
  if (overflow == Overflow::found) {
    next.factor = std::max(smallest, scale.factor / 2);
    next.steps_without_overflow = 0;
    ++next.skipped_in_a_row;
    ++next.skipped;
    return next;
  }
  next.skipped_in_a_row = 0;
  if (++next.steps_without_overflow < train.loss_scale_growth) return next;
  next.steps_without_overflow = 0;
  next.factor = std::min(largest, scale.factor * 2);
  return next;
}

}  // namespace galvatron::runtime
