// Normalisation and activations, rows dealt to threads. The gradients of gamma and beta are summed
// per thread in the workspace (threads × [dgamma | dbeta]) and then over threads in order.

#include <algorithm>

#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/fp32.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/rows.hpp"

namespace galvatron::kernels {
namespace {

/// body(row, first column, columns): by rows, or by columns of one long row where there are no gaps.
template <class Body>
void over_elements(int threads, int64_t rows, int64_t cols, bool contiguous, Body body) {
  threads = threads_for(threads, rows * cols);
  if (contiguous) {
    parallel_shares(threads, rows * cols, 64,
                    [&](int64_t begin, int64_t end, int) { body(0, begin, end - begin); });
  } else {
    parallel_shares(threads, rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) body(i, 0, cols);
    });
  }
}

template <class T>
void backward_rows(const ElementTable<T>& loops, const NormBackwardArgs& args, int64_t begin, int64_t end,
                   float* dgamma, float* dbeta) {
  for (int64_t i = begin; i < end; ++i) {
    loops.norm_backward({row<T>(args.x, i), args.gamma.as<T>(), row<T>(args.dy, i),
                         args.residual.present() ? row<T>(args.residual, i) : nullptr,
                         row<float>(args.stats, i), row<T>(args.dx, i), dgamma, dbeta, args.x.cols,
                         args.kind == NormKind::layernorm});
  }
}

}  // namespace

void Fp32::norm(const NormArgs& args) {
  by_element(args.x.dtype, [&]<class T>() {
    parallel_shares(
        threads_for(threads_, args.x.elements()), args.x.rows, 1, [&](int64_t begin, int64_t end, int) {
          for (int64_t i = begin; i < end; ++i) {
            loops_for<T>(simd_).norm({row<T>(args.x, i), args.gamma.as<T>(), optional_vector<T>(args.beta),
                                      row<T>(args.y, i), row<float>(args.stats, i), args.x.cols,
                                      static_cast<float>(args.eps), args.kind == NormKind::layernorm});
          }
        });
  });
}

void Fp32::norm_backward(const NormBackwardArgs& args) {
  const auto n = args.x.cols;
  const auto threads = threads_for(threads_, args.x.elements());
  auto* partial = args.workspace.as<float>();
  std::fill_n(partial, 2 * n * threads, 0.0F);
  by_element(args.x.dtype, [&]<class T>() {
    parallel_shares(threads, args.x.rows, 1, [&](int64_t begin, int64_t end, int part) {
      auto* dgamma = partial + 2 * n * part;
      backward_rows<T>(loops_for<T>(simd_), args, begin, end, dgamma,
                       args.dbeta.present() ? dgamma + n : nullptr);
    });
  });
  for (int part = 0; part < threads; ++part) {
    const auto* dgamma = partial + 2 * n * part;
    simd_.f32.accumulate(dgamma, args.dgamma.as<float>(), n);
    if (args.dbeta.present()) simd_.f32.accumulate(dgamma + n, args.dbeta.as<float>(), n);
  }
}

void Fp32::activation(ActivationKind kind, const TensorView& x, const TensorView& y) {
  const auto gelu = kind == ActivationKind::gelu;
  by_element(y.dtype, [&]<class T>() {
    const auto& loops = loops_for<T>(simd_);
    over_elements(threads_, y.rows, y.cols, gelu && x.contiguous() && y.contiguous(),
                  [&](int64_t i, int64_t first, int64_t count) {
                    const auto* in = row<T>(x, i) + first;
                    auto* out = row<T>(y, i) + first;
                    gelu ? loops.gelu(in, out, count) : loops.swiglu(in, in + y.cols, out, count);
                  });
  });
}

void Fp32::activation_backward(ActivationKind kind, const TensorView& x, const TensorView& dy,
                               const TensorView& dx) {
  const auto gelu = kind == ActivationKind::gelu;
  const auto n = dy.cols;
  by_element(dy.dtype, [&]<class T>() {
    const auto& loops = loops_for<T>(simd_);
    over_elements(threads_, dy.rows, n, gelu && x.contiguous() && dy.contiguous() && dx.contiguous(),
                  [&](int64_t i, int64_t first, int64_t count) {
                    const auto* in = row<T>(x, i) + first;
                    const auto* gradient = row<T>(dy, i) + first;
                    auto* out = row<T>(dx, i) + first;
                    gelu ? loops.gelu_backward(in, gradient, out, count)
                         : loops.swiglu_backward(in, in + n, gradient, out, out + n, count);
                  });
  });
}

}  // namespace galvatron::kernels
