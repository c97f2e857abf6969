// fp64 oracle: normalisation and activations.

#include <cmath>
#include <numbers>

#include "kernels/cpu/fp64.hpp"
#include "kernels/cpu/rows.hpp"

namespace galvatron::kernels::fp64 {
namespace {

/// u of gelu(x) = x/2 · (1 + tanh u) (Hendrycks and Gimpel, arXiv 1606.08415, the tanh form).
double gelu_argument(double x) {
  return std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
}

double gelu(double x) {
  return 0.5 * x * (1.0 + std::tanh(gelu_argument(x)));
}

double gelu_slope(double x) {
  const auto t = std::tanh(gelu_argument(x));
  const auto du = std::sqrt(2.0 / std::numbers::pi) * (1.0 + 3.0 * 0.044715 * x * x);
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * du;
}

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

}  // namespace

void norm(const NormArgs& args) {
  const auto n = args.x.cols;
  for (int64_t i = 0; i < args.x.rows; ++i) {
    const auto* x = row<double>(args.x, i);
    double mean = 0;
    if (args.kind == NormKind::layernorm) {
      for (int64_t j = 0; j < n; ++j) mean += x[j];
      mean /= static_cast<double>(n);
    }
    double variance = 0;
    for (int64_t j = 0; j < n; ++j) variance += (x[j] - mean) * (x[j] - mean);
    const auto inverse = 1.0 / std::sqrt(variance / static_cast<double>(n) + args.eps);
    for (int64_t j = 0; j < n; ++j) {
      const auto shift = args.beta.present() ? args.beta.as<double>()[j] : 0.0;
      row<double>(args.y, i)[j] = (x[j] - mean) * inverse * args.gamma.as<double>()[j] + shift;
    }
    row<double>(args.stats, i)[0] = mean;
    row<double>(args.stats, i)[1] = inverse;
  }
}

void norm_backward(const NormBackwardArgs& args) {
  const auto n = args.x.cols;
  const auto* gamma = args.gamma.as<double>();
  for (int64_t i = 0; i < args.x.rows; ++i) {
    const auto* x = row<double>(args.x, i);
    const auto* dy = row<double>(args.dy, i);
    const auto mean = row<double>(args.stats, i)[0];
    const auto inverse = row<double>(args.stats, i)[1];
    double sum = 0;        // of the gradient at the normalised value
    double projected = 0;  // of that times the normalised value
    for (int64_t j = 0; j < n; ++j) {
      const auto normalised = (x[j] - mean) * inverse;
      sum += dy[j] * gamma[j];
      projected += dy[j] * gamma[j] * normalised;
      args.dgamma.as<double>()[j] += dy[j] * normalised;
      if (args.dbeta.present()) args.dbeta.as<double>()[j] += dy[j];
    }
    if (args.kind == NormKind::rmsnorm) sum = 0;  // no mean was taken away
    for (int64_t j = 0; j < n; ++j) {
      const auto normalised = (x[j] - mean) * inverse;
      const auto inner = dy[j] * gamma[j] - (sum + normalised * projected) / static_cast<double>(n);
      const auto residual = args.residual.present() ? row<double>(args.residual, i)[j] : 0.0;
      row<double>(args.dx, i)[j] = inverse * inner + residual;
    }
  }
}

void activation(ActivationKind kind, const TensorView& x, const TensorView& y) {
  for (int64_t i = 0; i < y.rows; ++i) {
    const auto* in = row<double>(x, i);
    auto* out = row<double>(y, i);
    for (int64_t j = 0; j < y.cols; ++j) {
      out[j] = kind == ActivationKind::gelu ? gelu(in[j]) : in[j] * sigmoid(in[j]) * in[y.cols + j];
    }
  }
}

void activation_backward(ActivationKind kind, const TensorView& x, const TensorView& dy,
                         const TensorView& dx) {
  const auto n = dy.cols;
  for (int64_t i = 0; i < dy.rows; ++i) {
    const auto* in = row<double>(x, i);
    const auto* gradient = row<double>(dy, i);
    auto* out = row<double>(dx, i);
    for (int64_t j = 0; j < n; ++j) {
      const auto dy_j = gradient[j];
      if (kind == ActivationKind::gelu) {
        out[j] = dy_j * gelu_slope(in[j]);
      } else {
        const auto gate = in[j];
        const auto up = in[n + j];
        const auto s = sigmoid(gate);
        out[j] = dy_j * up * s * (1.0 + gate * (1.0 - s));
        out[n + j] = dy_j * gate * s;
      }
    }
  }
}

}  // namespace galvatron::kernels::fp64
