// Every backward against central differences of its forward, in fp64: for L = Σ weight · output the step h
// costs about h² and the rounding 1e-16 / h, so that h = 1e-5 leaves 1e-6 with room.

#include <functional>

#include "parity/kernels/workbench.hpp"

namespace galvatron::kernels::test {
namespace {

constexpr double step = 1e-5;
constexpr double tolerance = 1e-6;

/// Compares `gradient` with the differences of `loss` over each element of x.
void expect_gradient(const std::string& name, const TensorView& x, const TensorView& gradient,
                     const std::function<double()>& loss) {
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.cols; ++j) {
      const auto value = Workbench::get(x, i, j);
      Workbench::set(x, i, j, value + step);
      const auto above = loss();
      Workbench::set(x, i, j, value - step);
      const auto below = loss();
      Workbench::set(x, i, j, value);
      const auto expected = (above - below) / (2 * step);
      ASSERT_NEAR(Workbench::get(gradient, i, j), expected, tolerance * (1.0 + std::abs(expected)))
          << name << "[" << i << ", " << j << "]";
    }
  }
}

double weighted(const TensorView& weight, const TensorView& y) {
  double sum = 0;
  for (int64_t i = 0; i < y.rows; ++i) {
    for (int64_t j = 0; j < y.cols; ++j) sum += Workbench::get(weight, i, j) * Workbench::get(y, i, j);
  }
  return sum;
}

class Gradients : public testing::Test {
 protected:
  TensorView zeros(int64_t rows, int64_t cols) { return w.filled(DType::f64, rows, cols, 0.0); }

  Workbench w{DeviceKind::cpu, DType::f64, 1};
};

TEST_F(Gradients, GemmByTwoGemms) {
  GemmArgs forward;
  forward.a = w.input(5, 4);
  forward.b = w.input(4, 3);
  forward.bias = w.input(1, 3);
  forward.c = w.output(5, 3);
  const auto dc = w.input(5, 3);
  const auto loss = [&] {
    w.kernels().gemm(w.stream(), forward);
    return weighted(dc, forward.c);
  };
  GemmArgs da;
  da.a = dc;
  da.b = forward.b;
  da.transpose_b = Transpose::yes;
  da.c = w.output(5, 4);
  w.kernels().gemm(w.stream(), da);
  GemmArgs db;
  db.a = forward.a;
  db.transpose_a = Transpose::yes;
  db.b = dc;
  db.c = zeros(4, 3);
  db.write = Write::accumulate;
  w.kernels().gemm(w.stream(), db);
  const auto dbias = zeros(1, 3);
  w.kernels().column_sum(w.stream(), dc, dbias);
  expect_gradient("a", forward.a, da.c, loss);
  expect_gradient("b", forward.b, db.c, loss);
  expect_gradient("bias", forward.bias, dbias, loss);
}

class NormGradient : public Gradients, public testing::WithParamInterface<NormKind> {};

TEST_P(NormGradient, AllOperands) {
  NormArgs forward;
  forward.x = w.input(4, 6, 2.0);
  forward.gamma = w.input(1, 6);
  forward.beta = w.input(1, 6);
  forward.y = w.output(4, 6);
  forward.stats = w.output(4, 2);
  forward.kind = GetParam();
  NormBackwardArgs backward;
  backward.dy = w.input(4, 6);
  backward.residual = zeros(4, 6);
  backward.dx = w.output(4, 6);
  backward.dgamma = zeros(1, 6);
  backward.dbeta = zeros(1, 6);
  backward.kind = GetParam();
  const auto loss = [&] {
    w.kernels().norm(w.stream(), forward);
    return weighted(backward.dy, forward.y);
  };
  loss();
  backward.x = forward.x;
  backward.gamma = forward.gamma;
  backward.stats = forward.stats;
  w.kernels().norm_backward(w.stream(), backward);
  expect_gradient("x", forward.x, backward.dx, loss);
  expect_gradient("gamma", forward.gamma, backward.dgamma, loss);
  expect_gradient("beta", forward.beta, backward.dbeta, loss);
}

INSTANTIATE_TEST_SUITE_P(Kinds, NormGradient, testing::Values(NormKind::layernorm, NormKind::rmsnorm));

class ActivationGradient : public Gradients, public testing::WithParamInterface<ActivationKind> {};

TEST_P(ActivationGradient, Input) {
  const auto wide = GetParam() == ActivationKind::swiglu ? 2 : 1;
  const auto x = w.input(3, wide * 7, 4.0);
  const auto y = w.output(3, 7);
  const auto dy = w.input(3, 7);
  const auto dx = w.output(3, wide * 7);
  w.kernels().activation_backward(w.stream(), GetParam(), x, dy, dx);
  expect_gradient("x", x, dx, [&] {
    w.kernels().activation(w.stream(), GetParam(), x, y);
    return weighted(dy, y);
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, ActivationGradient,
                         testing::Values(ActivationKind::gelu, ActivationKind::swiglu));

TEST_F(Gradients, Attention) {
  AttentionArgs forward;
  forward.samples = 2;
  forward.positions = 6;
  forward.pieces = 2;
  forward.heads = 4;
  forward.kv_heads = 2;
  forward.head_dim = 3;
  forward.scale = 0.7;
  forward.q = w.input(12, 12);
  forward.k = w.input(12, 6);
  forward.v = w.input(12, 6);
  forward.out = w.output(12, 12);
  forward.lse = w.output(12, 4);
  forward.workspace = w.scratch(w.kernels().attention_workspace_bytes(forward));
  AttentionBackwardArgs backward;
  backward.samples = forward.samples;
  backward.positions = forward.positions;
  backward.pieces = forward.pieces;
  backward.heads = forward.heads;
  backward.kv_heads = forward.kv_heads;
  backward.head_dim = forward.head_dim;
  backward.scale = forward.scale;
  backward.q = forward.q;
  backward.k = forward.k;
  backward.v = forward.v;
  backward.out = forward.out;
  backward.lse = forward.lse;
  backward.dout = w.input(12, 12);
  backward.dq = w.output(12, 12);
  backward.dk = w.output(12, 6);
  backward.dv = w.output(12, 6);
  const auto loss = [&] {
    w.kernels().attention(w.stream(), forward);
    return weighted(backward.dout, forward.out);
  };
  loss();
  w.kernels().attention_backward(w.stream(), backward);
  expect_gradient("q", forward.q, backward.dq, loss);
  expect_gradient("k", forward.k, backward.dk, loss);
  expect_gradient("v", forward.v, backward.dv, loss);
}

TEST_F(Gradients, EmbeddingAndPositions) {
  const auto ids = w.ids(8, 0, 6);
  const auto table = w.input(5, 3);
  const auto positions = w.input(6, 3);
  const RowPositions places{2, 1, 4, 1, 2, 0, 3};  // positions 1, 3, 4, 5 of two samples
  const auto y = w.output(8, 3);
  const auto dy = w.input(8, 3);
  const auto dtable = zeros(5, 3);
  const auto dpositions = zeros(6, 3);
  const auto loss = [&] {
    w.kernels().embedding(w.stream(), ids, table, 1, y);
    w.kernels().add_positions(w.stream(), y, positions, places, y);
    return weighted(dy, y);
  };
  w.kernels().embedding_backward(w.stream(), ids, dy, 1, dtable);
  w.kernels().add_positions_backward(w.stream(), dy, places, dpositions);
  expect_gradient("table", table, dtable, loss);
  expect_gradient("positions", positions, dpositions, loss);
}

TEST_F(Gradients, RopeIsTurnedBack) {
  RopeArgs forward;
  forward.positions = {2, 1, 3, 1, 2, 0, 7};
  forward.heads = 2;
  forward.head_dim = 4;
  forward.base = 10.0;
  forward.x = w.input(6, 9);
  forward.y = w.output(6, 9);
  auto backward = forward;
  backward.direction = Direction::inverse;
  backward.x = w.input(6, 9);
  backward.y = w.output(6, 9);
  w.kernels().rope(w.stream(), backward);
  expect_gradient("x", forward.x, backward.y, [&] {
    w.kernels().rope(w.stream(), forward);
    return weighted(backward.x, forward.y);
  });
}

TEST_F(Gradients, CrossEntropyWithPaddingAndIgnoredRows) {
  CrossEntropyArgs args;
  const auto logits = w.input(6, 9, 3.0);
  args.logits = w.output(6, 9);
  args.labels = w.ids(6, -1, 6);
  args.labels.as<int32_t>()[2] = -1;
  args.loss = w.filled(DType::f64, 1, 1, 0.0);
  args.vocab = 7;
  args.scale = 1.0;
  w.kernels().copy(w.stream(), logits, args.logits);
  w.kernels().cross_entropy(w.stream(), args);
  auto value = args;
  value.scale = 0.0;
  value.logits = logits;
  expect_gradient("logits", logits, args.logits, [&] {
    *value.loss.as<double>() = 0.0;
    w.kernels().cross_entropy(w.stream(), value);
    return *value.loss.as<double>();
  });
}

}  // namespace
}  // namespace galvatron::kernels::test
