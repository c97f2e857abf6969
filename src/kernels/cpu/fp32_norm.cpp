// Normalisation and activations in fp32, rows dealt to threads. The gradients of gamma and beta are summed
// per thread in the workspace (threads × [dgamma | dbeta]) and then over threads in order.

#include <algorithm>

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

}  // namespace

void Fp32::norm(const NormArgs& args) {
  const auto n = args.x.cols;
  parallel_shares(threads_for(threads_, args.x.elements()), args.x.rows, 1,
                  [&](int64_t begin, int64_t end, int) {
                    for (int64_t i = begin; i < end; ++i) {
                      simd_.norm({row<float>(args.x, i), args.gamma.as<float>(),
                                  args.beta.present() ? args.beta.as<float>() : nullptr,
                                  row<float>(args.y, i), row<float>(args.stats, i), n,
                                  static_cast<float>(args.eps), args.kind == NormKind::layernorm});
                    }
                  });
}

void Fp32::norm_backward(const NormBackwardArgs& args) {
  const auto n = args.x.cols;
  const auto threads = threads_for(threads_, args.x.elements());
  auto* partial = args.workspace.as<float>();
  std::fill_n(partial, 2 * n * threads, 0.0F);
  parallel_shares(threads, args.x.rows, 1, [&](int64_t begin, int64_t end, int part) {
    auto* dgamma = partial + 2 * n * part;
    auto* dbeta = args.dbeta.present() ? dgamma + n : nullptr;
    for (int64_t i = begin; i < end; ++i) {
      simd_.norm_backward({row<float>(args.x, i), args.gamma.as<float>(), row<float>(args.dy, i),
                           args.residual.present() ? row<float>(args.residual, i) : nullptr,
                           row<float>(args.stats, i), row<float>(args.dx, i), dgamma, dbeta, n,
                           args.kind == NormKind::layernorm});
    }
  });
  for (int part = 0; part < threads; ++part) {
    const auto* dgamma = partial + 2 * n * part;
    simd_.add(args.dgamma.as<float>(), dgamma, args.dgamma.as<float>(), n);
    if (args.dbeta.present()) simd_.add(args.dbeta.as<float>(), dgamma + n, args.dbeta.as<float>(), n);
  }
}

void Fp32::activation(ActivationKind kind, const TensorView& x, const TensorView& y) {
  const auto gelu = kind == ActivationKind::gelu;
  over_elements(threads_, y.rows, y.cols, gelu && x.contiguous() && y.contiguous(),
                [&](int64_t i, int64_t first, int64_t count) {
                  const auto* in = row<float>(x, i) + first;
                  auto* out = row<float>(y, i) + first;
                  gelu ? simd_.gelu(in, out, count) : simd_.swiglu(in, in + y.cols, out, count);
                });
}

void Fp32::activation_backward(ActivationKind kind, const TensorView& x, const TensorView& dy,
                               const TensorView& dx) {
  const auto gelu = kind == ActivationKind::gelu;
  const auto n = dy.cols;
  over_elements(threads_, dy.rows, n, gelu && x.contiguous() && dy.contiguous() && dx.contiguous(),
                [&](int64_t i, int64_t first, int64_t count) {
                  const auto* in = row<float>(x, i) + first;
                  const auto* gradient = row<float>(dy, i) + first;
                  auto* out = row<float>(dx, i) + first;
                  gelu ? simd_.gelu_backward(in, gradient, out, count)
                       : simd_.swiglu_backward(in, in + n, gradient, out, out + n, count);
                });
}

}  // namespace galvatron::kernels
