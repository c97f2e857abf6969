// The head's loss in fp32: softmax, loss and gradient of one row after the other, each row read from memory
// once.

#include <algorithm>
#include <cmath>

#include "kernels/cpu/fp32.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/rows.hpp"

namespace galvatron::kernels {
namespace {

/// One row of a slice: its columns that are no padding, and where its label is.
struct LossRow {
  float* logits;
  float *maximum, *sum, *label_logit;  ///< null when nobody wants them
  int64_t real;                        ///< columns without padding
  int64_t cols;
  int64_t label;  ///< column of the label, −1 when in another slice
  bool ignored;
};

LossRow loss_row(const CrossEntropyArgs& args, int64_t i) {
  const auto real = std::clamp<int64_t>(args.vocab - args.vocab_begin, 0, args.logits.cols);
  const auto id = args.labels.as<int32_t>()[i];
  const auto column = id - args.vocab_begin;
  const auto statistic = [&](int64_t which) {
    return args.stats.present() ? row<float>(args.stats, which) + i : nullptr;
  };
  LossRow out{};
  out.logits = row<float>(args.logits, i);
  out.maximum = statistic(0);
  out.sum = statistic(1);
  out.label_logit = statistic(2);
  out.real = real;
  out.cols = args.logits.cols;
  out.label = column >= 0 && column < real ? column : -1;
  out.ignored = id < 0;
  return out;
}

void clear(const LossRow& r) {
  std::fill_n(r.logits, r.cols, 0.0F);
}

void finish_gradient(const LossRow& r, double scale) {
  if (r.label >= 0) r.logits[r.label] -= static_cast<float>(scale);
  std::fill(r.logits + r.real, r.logits + r.cols, 0.0F);
}

/// Returns the row's loss.
double whole_row(const Simd& simd, const LossRow& r, double scale) {
  if (r.ignored) {
    if (scale != 0.0) clear(r);
    return 0.0;
  }
  const auto maximum = simd.maximum(r.logits, r.real);
  const auto label_logit = r.label >= 0 ? r.logits[r.label] - maximum : 0.0F;
  const auto sum = scale == 0.0 ? simd.sum_exponentials(r.logits, r.real, maximum)
                                : simd.exponentiate(r.logits, r.real, maximum);
  if (r.maximum) {
    *r.maximum = maximum;
    *r.sum = static_cast<float>(sum);
    *r.label_logit = label_logit;
  }
  if (scale != 0.0) {
    simd.scale(r.logits, static_cast<float>(scale / sum), r.real);
    finish_gradient(r, scale);
  }
  return std::log(sum) - static_cast<double>(label_logit);
}

double gradient_row(const Simd& simd, const LossRow& r, double scale) {
  if (r.ignored) {
    if (scale != 0.0) clear(r);
    return 0.0;
  }
  const auto sum = static_cast<double>(*r.sum);
  if (scale != 0.0) {
    simd.exponentials(r.logits, r.real, *r.maximum, static_cast<float>(scale / sum));
    finish_gradient(r, scale);
  }
  return std::log(sum) - static_cast<double>(*r.label_logit);
}

}  // namespace

void Fp32::cross_entropy(const CrossEntropyArgs& args) {
  const auto rows = args.logits.rows;
  const auto threads = threads_for(threads_, args.logits.elements());
  const auto summed = [&](auto body) {
    const auto loss = ordered_sum(threads, rows, 1, [&](int64_t begin, int64_t end) {
      double sum = 0;
      for (int64_t i = begin; i < end; ++i) sum += body(loss_row(args, i));
      return sum;
    });
    // A rank with weight 0 must not turn another's infinity into NaN.
    if (args.loss_weight != 0.0) *args.loss.as<double>() += loss * args.loss_weight;
  };
  const auto each = [&](auto body) {
    parallel_shares(threads, rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) body(loss_row(args, i));
    });
  };
  switch (args.phase) {
    case CrossEntropyPhase::whole:
      summed([&](const LossRow& r) { return whole_row(simd_, r, args.scale); });
      break;
    case CrossEntropyPhase::gradient:
      summed([&](const LossRow& r) { return gradient_row(simd_, r, args.scale); });
      break;
    case CrossEntropyPhase::maximum:
      each([&](const LossRow& r) { *r.maximum = simd_.maximum(r.logits, r.real); });
      break;
    case CrossEntropyPhase::exponentials:
      each([&](const LossRow& r) {
        *r.sum = static_cast<float>(simd_.sum_exponentials(r.logits, r.real, *r.maximum));
        *r.label_logit = r.label >= 0 ? r.logits[r.label] - *r.maximum : 0.0F;
      });
      break;
  }
}

}  // namespace galvatron::kernels
