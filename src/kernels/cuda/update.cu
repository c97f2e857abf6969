// The optimizers: one look at parameters, gradients and moments, four elements at a time.

#include <cmath>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/formulas.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/steps.hpp"

namespace galvatron::kernels::cuda {
namespace {

constexpr int64_t most_ranges = 64;  // of one launch: they travel as its argument

/// Runs of equal weight decay, in order.
struct Ranges {
  int64_t begin = 0, end = 0;  ///< of all
  int64_t ends[most_ranges] = {};
  bool decays[most_ranges] = {};
};

template <class T>
struct Flat {
  float *parameter, *gradient, *exp_avg, *exp_avg_sq;
  T* working;  ///< may be null
};

template <class T, int N>
__global__ void adamw_kernel(Flat<T> a, AdamWStep step, Ranges ranges) {
  int r = 0;
  const auto stride = static_cast<int64_t>(gridDim.x) * blockDim.x * N;
  for (int64_t i = ranges.begin + (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
       i < ranges.end; i += stride) {
    const auto gradient = load<N>(a.gradient + i);
    auto m = load<N>(a.exp_avg + i);
    auto v = load<N>(a.exp_avg_sq + i);
    auto parameter = load<N>(a.parameter + i);
    for (int e = 0; e < N; ++e) {
      while (i + e >= ranges.ends[r]) ++r;
      adamw_element(step, gradient.at[e], ranges.decays[r], m.at[e], v.at[e], parameter.at[e]);
    }
    store<N>(a.exp_avg + i, m);
    store<N>(a.exp_avg_sq + i, v);
    store<N>(a.parameter + i, parameter);
    store<N>(a.gradient + i, Pack<float, N>{});
    if (a.working == nullptr) continue;
    Pack<T, N> rounded;
    for (int e = 0; e < N; ++e) rounded.at[e] = from_f32<T>(parameter.at[e]);
    store<N>(a.working + i, rounded);
  }
}

template <class T, int N>
__global__ void sgd_kernel(Flat<T> a, float rate, int64_t count) {
  each_pack<N>(1, count, [&](int64_t, int64_t i) {
    const auto gradient = load<N>(a.gradient + i);
    auto parameter = load<N>(a.parameter + i);
    for (int e = 0; e < N; ++e) parameter.at[e] -= rate * gradient.at[e];
    store<N>(a.parameter + i, parameter);
    store<N>(a.gradient + i, Pack<float, N>{});
    if (a.working == nullptr) return;
    Pack<T, N> rounded;
    for (int e = 0; e < N; ++e) rounded.at[e] = from_f32<T>(parameter.at[e]);
    store<N>(a.working + i, rounded);
  });
}

AdamWStep step_of(const AdamWArgs& args) {
  const auto correction = [&](double beta) {
    return static_cast<float>(1.0 / (1.0 - std::pow(beta, static_cast<double>(args.step))));
  };
  AdamWStep step{};
  step.lr = static_cast<float>(args.lr);
  step.beta1 = static_cast<float>(args.beta1);
  step.beta2 = static_cast<float>(args.beta2);
  step.eps = static_cast<float>(args.eps);
  step.gradient_scale = static_cast<float>(args.gradient_scale);
  step.decay = static_cast<float>(args.weight_decay);
  step.correction1 = correction(args.beta1);
  step.correction2 = correction(args.beta2);
  return step;
}

/// The next ranges from `at` on that one launch takes; empty ones are left out, and packs are not cut.
Ranges next_ranges(std::span<const DecayRange> all, size_t& at) {
  Ranges out;
  out.begin = out.end = all[at].begin;
  for (int64_t n = 0; at < all.size() && n < most_ranges; ++at) {
    if (all[at].begin == all[at].end) continue;
    out.end = out.ends[n] = all[at].end;
    out.decays[n] = all[at].decays;
    ++n;
  }
  return out;
}

}  // namespace

void adamw(cudaStream_t stream, const AdamWArgs& args) {
  const auto step = step_of(args);
  const auto type = args.working.present() ? args.working.dtype : core::DType::f32;
  constexpr int n = 4;
  for (size_t at = 0; at < args.decay.size();) {
    const auto ranges = next_ranges(args.decay, at);
    const auto count = ranges.end - ranges.begin;
    by_element(type, [&]<class T>() {
      Flat<T> a{args.parameter.as<float>(), args.gradient.as<float>(), args.exp_avg.as<float>(),
                args.exp_avg_sq.as<float>(), vector_of<T>(args.working)};
      const auto packs =
          ranges.begin % n == 0 &&
          packable(n, count,
                   {flattened(args.parameter), flattened(args.gradient), flattened(args.exp_avg),
                    flattened(args.exp_avg_sq), flattened(args.working)});
      launch(stream, plane_grid(1, count, packs ? n : 1), block_threads, 0,
             packs ? adamw_kernel<T, n> : adamw_kernel<T, 1>, a, step, ranges);
    });
  }
}

void sgd(cudaStream_t stream, const TensorView& parameter, const TensorView& gradient,
         const TensorView& working, double lr, double gradient_scale) {
  const auto count = parameter.elements();
  const auto type = working.present() ? working.dtype : core::DType::f32;
  constexpr int n = 4;
  by_element(type, [&]<class T>() {
    Flat<T> a{parameter.as<float>(), gradient.as<float>(), nullptr, nullptr, vector_of<T>(working)};
    const auto packs = packable(n, count, {flattened(parameter), flattened(gradient), flattened(working)});
    launch(stream, plane_grid(count > 0 ? 1 : 0, count, packs ? n : 1), block_threads, 0,
           packs ? sgd_kernel<T, n> : sgd_kernel<T, 1>, a, static_cast<float>(lr * gradient_scale), count);
  });
}

}  // namespace galvatron::kernels::cuda
