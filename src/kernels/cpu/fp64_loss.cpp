// fp64 oracle: the loss and the optimizers.

#include <algorithm>
#include <cmath>

#include "kernels/cpu/fp64.hpp"
#include "kernels/cpu/rows.hpp"

namespace galvatron::kernels::fp64 {
namespace {

struct RowLoss {
  double maximum = -INFINITY;
  double sum = 0;
  double label_logit = 0;
};

/// What row i knows about itself in one of the three statistics.
double& stat(const CrossEntropyArgs& args, int64_t which, int64_t i) {
  return row<double>(args.stats, which)[i];
}

void store(const CrossEntropyArgs& args, int64_t i, const RowLoss& loss) {
  stat(args, 0, i) = loss.maximum;
  stat(args, 1, i) = loss.sum;
  stat(args, 2, i) = loss.label_logit;
}

/// The columns of the slice that are no padding.
int64_t real_columns(const CrossEntropyArgs& args) {
  return std::clamp<int64_t>(args.vocab - args.vocab_begin, 0, args.logits.cols);
}

double row_maximum(const double* logits, int64_t n) {
  double maximum = -INFINITY;
  for (int64_t j = 0; j < n; ++j) {
    if (!(logits[j] <= maximum)) maximum = logits[j];  // so written that a NaN stays
  }
  return maximum;
}

double row_exponentials(const double* logits, int64_t n, double maximum) {
  double sum = 0;
  for (int64_t j = 0; j < n; ++j) sum += std::exp(logits[j] - maximum);
  return sum;
}

double label_logit(const CrossEntropyArgs& args, int64_t i, double maximum) {
  const auto label = args.labels.as<int32_t>()[i] - args.vocab_begin;
  return label >= 0 && label < real_columns(args) ? row<double>(args.logits, i)[label] - maximum : 0.0;
}

void gradient_row(const CrossEntropyArgs& args, int64_t i, const RowLoss& loss) {
  const auto ignored = args.labels.as<int32_t>()[i] < 0;
  if (!ignored && args.loss_weight != 0.0)
    *args.loss.as<double>() += (std::log(loss.sum) - loss.label_logit) * args.loss_weight;
  if (args.scale == 0.0) return;
  auto* logits = row<double>(args.logits, i);
  const auto label = args.labels.as<int32_t>()[i] - args.vocab_begin;
  for (int64_t j = 0; j < args.logits.cols; ++j) {
    const auto absent = ignored || j >= real_columns(args);
    const auto weight = absent ? 0.0 : std::exp(logits[j] - loss.maximum) / loss.sum;
    logits[j] = absent ? 0.0 : (weight - (j == label ? 1.0 : 0.0)) * args.scale;
  }
}

}  // namespace

void cross_entropy(const CrossEntropyArgs& args) {
  const auto n = real_columns(args);
  for (int64_t i = 0; i < args.logits.rows; ++i) {
    const auto* logits = row<double>(args.logits, i);
    RowLoss loss;
    switch (args.phase) {
      case CrossEntropyPhase::maximum:
        stat(args, 0, i) = row_maximum(logits, n);
        break;
      case CrossEntropyPhase::exponentials:
        stat(args, 1, i) = row_exponentials(logits, n, stat(args, 0, i));
        stat(args, 2, i) = label_logit(args, i, stat(args, 0, i));
        break;
      case CrossEntropyPhase::gradient:
        gradient_row(args, i, {stat(args, 0, i), stat(args, 1, i), stat(args, 2, i)});
        break;
      case CrossEntropyPhase::whole:
        loss.maximum = row_maximum(logits, n);
        loss.sum = row_exponentials(logits, n, loss.maximum);
        loss.label_logit = label_logit(args, i, loss.maximum);
        if (args.stats.present()) store(args, i, loss);
        gradient_row(args, i, loss);
        break;
    }
  }
}

void adamw(const AdamWArgs& args) {
  const auto correction1 = 1.0 - std::pow(args.beta1, static_cast<double>(args.step));
  const auto correction2 = 1.0 - std::pow(args.beta2, static_cast<double>(args.step));
  for (const auto& range : args.decay) {
    for (int64_t i = range.begin; i < range.end; ++i) {
      const auto g = args.gradient.as<double>()[i] * args.gradient_scale;
      auto& m = args.exp_avg.as<double>()[i];
      auto& v = args.exp_avg_sq.as<double>()[i];
      auto& p = args.parameter.as<double>()[i];
      m = args.beta1 * m + (1.0 - args.beta1) * g;
      v = args.beta2 * v + (1.0 - args.beta2) * g * g;
      if (range.decays) p -= args.lr * args.weight_decay * p;
      p -= args.lr * (m / correction1) / (std::sqrt(v / correction2) + args.eps);
      args.gradient.as<double>()[i] = 0.0;
      if (args.working.present()) args.working.as<double>()[i] = p;
    }
  }
}

void sgd(const TensorView& parameter, const TensorView& gradient, const TensorView& working, double lr,
         double gradient_scale) {
  for (int64_t i = 0; i < parameter.elements(); ++i) {
    parameter.as<double>()[i] -= lr * gradient_scale * gradient.as<double>()[i];
    gradient.as<double>()[i] = 0.0;
    if (working.present()) working.as<double>()[i] = parameter.as<double>()[i];
  }
}

}  // namespace galvatron::kernels::fp64
