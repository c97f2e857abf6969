// Optimizers and the gradient norm: passes over flat fp32 vectors at the speed of memory. The working copy in
// the layers' element type is written in the same pass.

#include <cmath>

#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/fp32.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/rows.hpp"

namespace galvatron::kernels {
namespace {

AdamWNumbers numbers_of(const AdamWArgs& args) {
  const auto correction1 = 1.0 - std::pow(args.beta1, static_cast<double>(args.step));
  const auto correction2 = 1.0 - std::pow(args.beta2, static_cast<double>(args.step));
  AdamWNumbers numbers{};
  numbers.gradient_scale = static_cast<float>(args.gradient_scale);
  numbers.beta1 = static_cast<float>(args.beta1);
  numbers.beta2 = static_cast<float>(args.beta2);
  numbers.one_minus_beta1 = static_cast<float>(1.0 - args.beta1);
  numbers.one_minus_beta2 = static_cast<float>(1.0 - args.beta2);
  numbers.step_size = static_cast<float>(args.lr / correction1);
  numbers.inverse_root_correction2 = static_cast<float>(1.0 / std::sqrt(correction2));
  numbers.eps = static_cast<float>(args.eps);
  return numbers;
}

/// `begin` elements into the working copy, or null where there is none.
template <class T>
T* working_from(const TensorView& working, int64_t begin) {
  return working.present() ? working.as<T>() + begin : nullptr;
}

}  // namespace

void Fp32::adamw(const AdamWArgs& args) {
  auto numbers = numbers_of(args);
  for (const auto& range : args.decay) {
    numbers.decay_factor = range.decays ? static_cast<float>(1.0 - args.lr * args.weight_decay) : 1.0F;
    const auto count = range.end - range.begin;
    by_element(args.working.dtype, [&]<class T>() {
      parallel_shares(threads_for(threads_, count), count, cache_line, [&](int64_t begin, int64_t end, int) {
        const auto first = range.begin + begin;
        loops_for<T>(simd_).adamw(args.parameter.as<float>() + first, args.gradient.as<float>() + first,
                                  args.exp_avg.as<float>() + first, args.exp_avg_sq.as<float>() + first,
                                  working_from<T>(args.working, first), end - begin, numbers);
      });
    });
  }
}

void Fp32::sgd(const TensorView& parameter, const TensorView& gradient, const TensorView& working, double lr,
               double gradient_scale) {
  const auto count = parameter.elements();
  by_element(working.dtype, [&]<class T>() {
    parallel_shares(threads_for(threads_, count), count, cache_line, [&](int64_t begin, int64_t end, int) {
      loops_for<T>(simd_).sgd(parameter.as<float>() + begin, gradient.as<float>() + begin,
                              working_from<T>(working, begin), end - begin,
                              static_cast<float>(lr * gradient_scale));
    });
  });
}

void Fp32::sum_of_squares(const TensorView& x, const TensorView& out) {
  const auto threads = threads_for(threads_, x.elements());
  if (x.contiguous()) {
    *out.as<double>() += ordered_sum(threads, x.elements(), 4096, [&](int64_t begin, int64_t end) {
      return simd_.sum_of_squares(x.as<float>() + begin, end - begin);
    });
    return;
  }
  *out.as<double>() += ordered_sum(threads, x.rows, 1, [&](int64_t begin, int64_t end) {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += simd_.sum_of_squares(row<float>(x, i), x.cols);
    return sum;
  });
}

}  // namespace galvatron::kernels
