// Learning rate and clipping: scalars of one step.

#include "runtime/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace galvatron::runtime {

double learning_rate(const deck::TrainSection& train, int64_t step) {
  if (step < train.warmup)
    return train.lr * static_cast<double>(step + 1) / static_cast<double>(train.warmup);
  if (train.decay == "constant") return train.lr;
  const auto span = std::max<int64_t>(1, train.steps - train.warmup);
  const auto share = std::min(1.0, static_cast<double>(step - train.warmup) / static_cast<double>(span));
  const auto left = train.decay == "linear" ? 1.0 - share : 0.5 * (1.0 + std::cos(std::numbers::pi * share));
  return train.min_lr + (train.lr - train.min_lr) * left;
}

double clip_factor(double norm, double clip) {
  return clip > 0.0 ? std::min(1.0, clip / (norm + 1e-6)) : 1.0;
}

UpdateSettings update_settings(const deck::TrainSection& train, int64_t step, double gradient_norm) {
  UpdateSettings settings;
  settings.optimizer = train.optimizer == "sgd" ? core::OptimizerKind::sgd : core::OptimizerKind::adamw;
  settings.lr = learning_rate(train, step);
  settings.beta1 = train.betas[0];
  settings.beta2 = train.betas[1];
  settings.eps = train.eps;
  settings.weight_decay = train.weight_decay;
  settings.gradient_scale = clip_factor(gradient_norm, train.clip);
  settings.step = step + 1;
  return settings;
}

}  // namespace galvatron::runtime
