// The head's loss: softmax, loss and gradient of one row after the other, each row read from memory once. A
// gradient of 16 bits is rounded once, so its row is exponentiated a second time instead of being kept.

#include <algorithm>
#include <cmath>

#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/fp32.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/rows.hpp"

namespace galvatron::kernels {
namespace {

/// One row of a slice: its columns that are no padding, and where its label is.
template <class T>
struct LossRow {
  T* logits;
  float *maximum, *sum, *label_logit;  ///< null when nobody wants them
  int64_t real;                        ///< columns without padding
  int64_t cols;
  int64_t label;  ///< column of the label, −1 when in another slice
  bool ignored;
};

template <class T>
LossRow<T> loss_row(const CrossEntropyArgs& args, int64_t i) {
  const auto real = std::clamp<int64_t>(args.vocab - args.vocab_begin, 0, args.logits.cols);
  const auto id = args.labels.as<int32_t>()[i];
  const auto column = id - args.vocab_begin;
  const auto statistic = [&](int64_t which) {
    return args.stats.present() ? row<float>(args.stats, which) + i : nullptr;
  };
  LossRow<T> out{};
  out.logits = row<T>(args.logits, i);
  out.maximum = statistic(0);
  out.sum = statistic(1);
  out.label_logit = statistic(2);
  out.real = real;
  out.cols = args.logits.cols;
  out.label = column >= 0 && column < real ? column : -1;
  out.ignored = id < 0;
  return out;
}

/// The rows of one call in elements of type T.
template <class T>
class Rows {
 public:
  Rows(const Simd& simd, double scale) : simd_(simd), loops_(loops_for<T>(simd)), scale_(scale) {}

  void maximum(const LossRow<T>& r) const { *r.maximum = loops_.maximum(r.logits, r.real); }

  void exponentials(const LossRow<T>& r) const {
    *r.sum = static_cast<float>(loops_.sum_exponentials(r.logits, r.real, *r.maximum));
    *r.label_logit = label_logit(r, *r.maximum);
  }

  /// Returns the row's loss.
  double gradient(const LossRow<T>& r) const {
    if (r.ignored) return clear(r);
    const auto sum = static_cast<double>(*r.sum);
    if (scale_ != 0.0) {
      loops_.exponentials(r.logits, r.real, *r.maximum, static_cast<float>(scale_ / sum));
      finish(r, sum, *r.label_logit);
    }
    return std::log(sum) - static_cast<double>(*r.label_logit);
  }

  double whole(const LossRow<T>& r) const {
    if (r.ignored) return clear(r);
    const auto maximum = loops_.maximum(r.logits, r.real);
    const auto label = label_logit(r, maximum);
    const auto sum = scale_ == 0.0 ? loops_.sum_exponentials(r.logits, r.real, maximum) : softmax(r, maximum);
    if (r.maximum) {
      *r.maximum = maximum;
      *r.sum = static_cast<float>(sum);
      *r.label_logit = label;
    }
    if (scale_ != 0.0) finish(r, sum, label);
    return std::log(sum) - static_cast<double>(label);
  }

 private:
  float label_logit(const LossRow<T>& r, float maximum) const {
    if (r.label < 0) return 0.0F;
    float logit = 0;
    loops_.widen(r.logits + r.label, &logit, 1);
    return logit - maximum;
  }

  /// Logits become scale · softmax; returns the sum of exponentials.
  double softmax(const LossRow<T>& r, float maximum) const {
    if constexpr (std::same_as<T, float>) {
      const auto sum = simd_.exponentiate(r.logits, r.real, maximum);
      simd_.scale(r.logits, static_cast<float>(scale_ / sum), r.real);
      return sum;
    } else {
      const auto sum = loops_.sum_exponentials(r.logits, r.real, maximum);
      loops_.exponentials(r.logits, r.real, maximum, static_cast<float>(scale_ / sum));
      return sum;
    }
  }

  /// The label's element, which the others do not share a formula with, and the padding.
  void finish(const LossRow<T>& r, double sum, float label) const {
    if (r.label >= 0) {
      const auto value = static_cast<float>((std::exp(static_cast<double>(label)) / sum - 1.0) * scale_);
      loops_.narrow(&value, r.logits + r.label, 1);
    }
    std::fill(r.logits + r.real, r.logits + r.cols, T{});
  }

  double clear(const LossRow<T>& r) const {
    if (scale_ != 0.0) std::fill_n(r.logits, r.cols, T{});
    return 0.0;
  }

  const Simd& simd_;
  const ElementTable<T>& loops_;
  double scale_;
};

template <class T>
void play_rows(const Simd& simd, int threads, const CrossEntropyArgs& args) {
  const Rows<T> rows(simd, args.scale);
  const auto summed = [&](auto body) {
    const auto loss = ordered_sum(threads, args.logits.rows, 1, [&](int64_t begin, int64_t end) {
      double sum = 0;
      for (int64_t i = begin; i < end; ++i) sum += body(loss_row<T>(args, i));
      return sum;
    });
    // A rank with weight 0 must not turn another's infinity into NaN.
    if (args.loss_weight != 0.0) *args.loss.as<double>() += loss * args.loss_weight;
  };
  const auto each = [&](auto body) {
    parallel_shares(threads, args.logits.rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) body(loss_row<T>(args, i));
    });
  };
  switch (args.phase) {
    case CrossEntropyPhase::whole:
      return summed([&](const LossRow<T>& r) { return rows.whole(r); });
    case CrossEntropyPhase::gradient:
      return summed([&](const LossRow<T>& r) { return rows.gradient(r); });
    case CrossEntropyPhase::maximum:
      return each([&](const LossRow<T>& r) { rows.maximum(r); });
    case CrossEntropyPhase::exponentials:
      return each([&](const LossRow<T>& r) { rows.exponentials(r); });
  }
}

}  // namespace

void Fp32::cross_entropy(const CrossEntropyArgs& args) {
  by_element(args.logits.dtype,
             [&]<class T>() { play_rows<T>(simd_, threads_for(threads_, args.logits.elements()), args); });
}

}  // namespace galvatron::kernels
