// Kernels against formulas written down here a second time, and the promises that no single call can show:
// slices equal the whole, token order does not change the result, non-finite values come through, errors name
// the call.

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/errors.hpp"
#include "parity/kernels/workbench.hpp"

namespace galvatron::kernels::test {
namespace {

/// Attention with the whole positions × positions matrix, tokens in plain order [sample][position].
std::vector<double> plain_attention(const AttentionArgs& a,
                                    const std::function<int64_t(int64_t, int64_t)>& row) {
  std::vector<double> out(static_cast<size_t>(a.samples * a.positions * a.heads * a.head_dim));
  for (int64_t s = 0; s < a.samples; ++s) {
    for (int64_t h = 0; h < a.heads; ++h) {
      const auto kv = h * a.kv_heads / a.heads;
      for (int64_t i = 0; i < a.positions; ++i) {
        std::vector<double> weight(static_cast<size_t>(a.positions), 0.0);
        for (int64_t j = 0; j <= i; ++j) {
          double score = 0;
          for (int64_t d = 0; d < a.head_dim; ++d) {
            score += Workbench::get(a.q, row(s, i), h * a.head_dim + d) *
                     Workbench::get(a.k, row(s, j), kv * a.head_dim + d);
          }
          weight[static_cast<size_t>(j)] = std::exp(a.scale * score);
        }
        const auto sum = std::accumulate(weight.begin(), weight.end(), 0.0);
        for (int64_t d = 0; d < a.head_dim; ++d) {
          double value = 0;
          for (int64_t j = 0; j <= i; ++j) {
            value +=
                weight[static_cast<size_t>(j)] / sum * Workbench::get(a.v, row(s, j), kv * a.head_dim + d);
          }
          out[static_cast<size_t>(((s * a.positions + i) * a.heads + h) * a.head_dim + d)] = value;
        }
      }
    }
  }
  return out;
}

class TokenOrders : public testing::TestWithParam<std::tuple<DType, int64_t>> {};

TEST_P(TokenOrders, AttentionIsThePlainFormula) {
  const auto [dtype, pieces] = GetParam();
  Workbench w(DeviceKind::cpu, dtype, 2);
  AttentionArgs a;
  a.samples = 2;
  a.positions = 120;
  a.pieces = pieces;
  a.heads = 4;
  a.kv_heads = 2;
  a.head_dim = 24;
  a.scale = 0.3;
  a.q = w.input(240, 96, 1.0, 8);
  a.k = w.input(240, 48, 1.0, 8);
  a.v = w.input(240, 48, 1.0, 8);
  a.out = w.output(240, 96);
  a.lse = w.output(240, 4);
  a.workspace = w.scratch(w.kernels().attention_workspace_bytes(a));
  w.kernels().attention(w.stream(), a);
  const auto piece = a.positions / a.pieces;
  const auto row = [&](int64_t s, int64_t p) { return (p / piece * a.samples + s) * piece + p % piece; };
  const auto expected = plain_attention(a, row);
  for (int64_t s = 0; s < a.samples; ++s) {
    for (int64_t p = 0; p < a.positions; ++p) {
      for (int64_t c = 0; c < 96; ++c) {
        ASSERT_NEAR(Workbench::get(a.out, row(s, p), c),
                    expected[static_cast<size_t>((s * a.positions + p) * 96 + c)],
                    dtype == DType::f32 ? 2e-6 : 1e-13)
            << "sample " << s << ", position " << p << ", column " << c;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Pieces, TokenOrders,
                         testing::Combine(testing::Values(DType::f32, DType::f64), testing::Values(1, 2, 3)));

/// Half of the distance of neighbours, relative to their size.
double rounding_of(DType dtype) {
  if (dtype == DType::bf16) return 0x1p-8;
  return dtype == DType::f16 ? 0x1p-11 : 0.0;
}

class EveryDType : public testing::TestWithParam<DType> {};

/// The problem `whole` cut into three slices of the vocabulary; the middle one adds the loss.
std::vector<CrossEntropyArgs> three_slices(Workbench& w, const CrossEntropyArgs& whole,
                                           const TensorView& statistics, int64_t slice) {
  std::vector<CrossEntropyArgs> parts;
  for (int64_t i = 0; i < 3; ++i) {
    auto part = whole;
    part.logits = w.output(whole.logits.rows, slice);
    auto columns = whole.logits;
    columns.data += i * slice * core::size_of(whole.logits.dtype);
    columns.cols = slice;
    w.kernels().copy(w.stream(), columns, part.logits);
    part.vocab_begin = i * slice;
    part.stats = statistics.row_range(3 * i, 3);
    part.loss = w.filled(DType::f64, 1, 1, 0.0);
    part.loss_weight = i == 1 ? 1.0 : 0.0;
    parts.push_back(part);
  }
  return parts;
}

TEST_P(EveryDType, ThreeSlicesOfTheVocabularyAreTheWhole) {
  constexpr int64_t rows = 13;
  constexpr int64_t vocab = 40;  // slices of 17: 17 + 17 + 6 and 11 columns of padding
  constexpr int64_t slice = 17;
  Workbench w(DeviceKind::cpu, GetParam(), 2);
  CrossEntropyArgs whole;
  whole.logits = w.input(rows, 3 * slice, 5.0);
  whole.labels = w.ids(rows, -1, vocab - 1);
  whole.loss = w.filled(DType::f64, 1, 1, 0.0);
  whole.vocab = vocab;
  whole.scale = 0.125;
  const auto statistics = w.filled(w.sums(), 9, rows, 0.0);
  auto parts = three_slices(w, whole, statistics, slice);
  w.kernels().cross_entropy(w.stream(), whole);

  const auto reduce = [&](int64_t which, const std::function<double(double, double)>& join) {
    for (int64_t r = 0; r < rows; ++r) {
      auto value = Workbench::get(parts[0].stats, which, r);
      for (size_t i = 1; i < 3; ++i) value = join(value, Workbench::get(parts[i].stats, which, r));
      for (const auto& part : parts) Workbench::set(part.stats, which, r, value);
    }
  };
  const auto play = [&](CrossEntropyPhase phase) {
    for (auto& part : parts) {
      part.phase = phase;
      w.kernels().cross_entropy(w.stream(), part);
    }
  };
  play(CrossEntropyPhase::maximum);
  reduce(0, [](double a, double b) { return std::max(a, b); });
  play(CrossEntropyPhase::exponentials);
  reduce(1, std::plus<>());
  reduce(2, std::plus<>());
  play(CrossEntropyPhase::gradient);

  const auto tolerance = GetParam() == DType::f64 ? 1e-14 : 1e-6;
  const auto rounding = rounding_of(GetParam());
  EXPECT_NEAR(*parts[1].loss.as<double>(), *whole.loss.as<double>(), tolerance * *whole.loss.as<double>());
  EXPECT_EQ(*parts[0].loss.as<double>(), 0.0);
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < 3 * slice; ++c) {
      const auto value = Workbench::get(parts[static_cast<size_t>(c / slice)].logits, r, c % slice);
      ASSERT_NEAR(value, Workbench::get(whole.logits, r, c), tolerance + rounding * whole.scale)
          << "row " << r << ", id " << c;
      if (c >= vocab) {
        ASSERT_EQ(value, 0.0) << "padding got a gradient, row " << r << ", id " << c;
      }
      sum += value;
    }
    EXPECT_NEAR(sum, 0.0, 1e-6 + 2 * rounding * whole.scale) << "row " << r;
  }
}

TEST_P(EveryDType, ASliceOfPaddingOnlyAddsNothing) {
  Workbench w(DeviceKind::cpu, GetParam(), 1);
  CrossEntropyArgs args;
  args.logits = w.input(3, 5);
  args.labels = w.ids(3, 0, 9);
  args.stats = w.output_sums(3, 3);
  args.vocab_begin = 10;
  args.vocab = 10;
  args.phase = CrossEntropyPhase::maximum;
  w.kernels().cross_entropy(w.stream(), args);
  EXPECT_EQ(Workbench::get(args.stats, 0, 1), -std::numeric_limits<double>::infinity());
  w.kernels().fill(w.stream(), args.stats.row_range(0, 1), 1.0);
  args.phase = CrossEntropyPhase::exponentials;
  w.kernels().cross_entropy(w.stream(), args);
  EXPECT_EQ(Workbench::get(args.stats, 1, 1), 0.0);
  EXPECT_EQ(Workbench::get(args.stats, 2, 1), 0.0);
}

TEST_P(EveryDType, AdamWIsTheScalarFormula) {
  Workbench w(DeviceKind::cpu, GetParam(), 1);
  AdamWArgs args;
  args.parameter = w.filled(w.sums(), 1, 2, 0.75);
  args.gradient = w.filled(w.sums(), 1, 2, 0.0);
  args.exp_avg = w.filled(w.sums(), 1, 2, 0.0);
  args.exp_avg_sq = w.filled(w.sums(), 1, 2, 0.0);
  args.working = w.output(1, 2);
  const core::DecayRange ranges[] = {{0, 1, true}, {1, 2, false}};
  args.decay = ranges;
  args.weight_decay = 0.1;
  args.lr = 0.01;
  double p[] = {0.75, 0.75};
  double m = 0;
  double v = 0;
  for (int64_t step = 1; step <= 20; ++step) {
    const auto g = std::sin(static_cast<double>(step));
    w.kernels().fill(w.stream(), args.gradient, g);
    args.gradient_scale = 0.5;
    args.step = step;
    w.kernels().adamw(w.stream(), args);
    m = args.beta1 * m + (1 - args.beta1) * 0.5 * g;
    v = args.beta2 * v + (1 - args.beta2) * 0.25 * g * g;
    const auto m_hat = m / (1 - std::pow(args.beta1, static_cast<double>(step)));
    const auto v_hat = v / (1 - std::pow(args.beta2, static_cast<double>(step)));
    for (int i = 0; i < 2; ++i) {
      p[i] -= args.lr * (i == 0 ? 0.1 : 0.0) * p[i];
      p[i] -= args.lr * m_hat / (std::sqrt(v_hat) + args.eps);
      ASSERT_NEAR(Workbench::get(args.parameter, 0, i), p[i], GetParam() == DType::f64 ? 1e-15 : 2e-6)
          << "step " << step << ", element " << i;
      ASSERT_NEAR(Workbench::get(args.working, 0, i), p[i], 2e-6 + rounding_of(GetParam()))
          << "step " << step << ", element " << i;
    }
    ASSERT_EQ(Workbench::get(args.gradient, 0, 0), 0.0) << "step " << step;
  }
}

TEST_P(EveryDType, ANanComesThrough) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  Workbench w(DeviceKind::cpu, GetParam(), 1);
  const auto x = w.input(4, 40);
  Workbench::set(x, 2, 35, nan);
  const auto y = w.output(4, 40);
  w.kernels().activation(w.stream(), ActivationKind::gelu, x, y);
  EXPECT_TRUE(std::isnan(Workbench::get(y, 2, 35)));
  EXPECT_FALSE(std::isnan(Workbench::get(y, 2, 34)));
  CrossEntropyArgs args;
  args.logits = x;
  args.labels = w.ids(4, 0, 39);
  args.loss = w.filled(DType::f64, 1, 1, 0.0);
  args.vocab = 40;
  w.kernels().cross_entropy(w.stream(), args);
  EXPECT_TRUE(std::isnan(*args.loss.as<double>()));
  const auto squares = w.filled(DType::f64, 1, 1, 0.0);
  const auto sums = w.output_sums(4, 40);
  w.kernels().copy(w.stream(), x, sums);
  w.kernels().sum_of_squares(w.stream(), sums, squares);
  EXPECT_TRUE(std::isnan(*squares.as<double>()));
}

INSTANTIATE_TEST_SUITE_P(DTypes, EveryDType, testing::Values(DType::f32, DType::f64, DType::bf16, DType::f16),
                         [](const auto& info) { return std::string(core::name(info.param)); });

TEST(Activation, IsExactToAFewUlp) {
  Workbench single(DeviceKind::cpu, DType::f32, 1);
  Workbench oracle(DeviceKind::cpu, DType::f64, 1);
  const auto x = single.input(1, 20000, 12.0);
  const auto x64 = oracle.input(1, 20000, 12.0);
  const auto y = single.output(1, 20000);
  const auto y64 = oracle.output(1, 20000);
  single.kernels().activation(single.stream(), ActivationKind::gelu, x, y);
  oracle.kernels().activation(oracle.stream(), ActivationKind::gelu, x64, y64);
  for (int64_t i = 0; i < 20000; ++i) {
    const auto expected = Workbench::get(y64, 0, i);
    // The tanh form itself keeps no digits in the far negative tail, in any precision.
    const auto bound = std::max(std::abs(expected) * 2e-6, 1e-12);
    ASSERT_NEAR(Workbench::get(y, 0, i), expected, bound) << "x = " << Workbench::get(x, 0, i);
  }
}

TEST(Errors, NameTheCallAndTheShapes) {
  for (const auto kind : {DeviceKind::cpu, DeviceKind::dry}) {
    Workbench w(kind, DType::f32, 1);
    try {
      w.kernels().add(w.stream(), w.input(3, 4), w.input(3, 5), {}, w.output(3, 4));
      FAIL() << "accepted";
    } catch (const core::InternalError& error) {
      EXPECT_NE(std::string(error.what()).find("kernels: add: b is 3 x 5 f32: expected 3 x 4 f32"),
                std::string::npos)
          << error.what();
    }
    AttentionArgs args;
    args.samples = 1;
    args.positions = 8;
    args.pieces = 3;
    args.heads = args.kv_heads = args.head_dim = 1;
    EXPECT_THROW(w.kernels().attention(w.stream(), args), core::InternalError);
  }
}

/// Products of 16 bits go by blocks; these have several of them in every dim, with remainders.
TEST(Gemm, BlocksOfSixteenBitsAreTheWhole) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{200, 1030, 8300}, {2100, 40, 600}, {30, 9000, 700}}) {
    Workbench w(DeviceKind::cpu, DType::bf16, 2, DType::bf16);
    Workbench oracle(DeviceKind::cpu, DType::f32, 2, DType::bf16);
    for (const auto write : {Write::overwrite, Write::accumulate}) {
      const auto run = [&](Workbench& bench) {
        GemmArgs args;
        args.a = bench.input(m, k, 1.0, 3);
        args.b = bench.input(n, k);
        if (write == Write::overwrite) args.bias = bench.input(1, n);
        args.transpose_b = Transpose::yes;
        args.write = write;
        args.c = write == Write::overwrite ? bench.output(m, n) : bench.input_sums(m, n);
        args.workspace = bench.scratch(bench.kernels().gemm_workspace_bytes(args));
        bench.kernels().gemm(bench.stream(), args);
        return bench.values(args.c);
      };
      const auto got = run(w);
      const auto expected = run(oracle);
      const auto rounding = write == Write::overwrite ? 0x1p-8 : 0.0;
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], expected[i], rounding * std::abs(expected[i]) + 2e-3)
            << m << " x " << n << " x " << k << ", element " << i;
      }
    }
  }
}

TEST(Workspace, DryNeedsWhatTheCpuNeeds) {
  for (const int threads : {1, 2, 5}) {
    Workbench cpu(DeviceKind::cpu, DType::f32, threads);
    Workbench dry(DeviceKind::dry, DType::f32, threads);
    for (const auto type : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
      GemmArgs gemm;
      gemm.a = device::matrix(nullptr, type, 64, 768);
      gemm.b = device::matrix(nullptr, type, 768, 3072);
      gemm.c = device::matrix(nullptr, core::accumulator_of(type), 64, 3072);
      for (const auto write : {Write::overwrite, Write::accumulate}) {
        gemm.write = write;
        EXPECT_EQ(cpu.kernels().gemm_workspace_bytes(gemm), dry.kernels().gemm_workspace_bytes(gemm));
      }
    }
    AttentionBackwardArgs attention;
    attention.q = device::matrix(nullptr, DType::f32, 512, 128);
    attention.samples = 1;
    attention.positions = 512;
    attention.heads = attention.kv_heads = 2;
    attention.head_dim = 64;
    EXPECT_EQ(cpu.kernels().attention_backward_workspace_bytes(attention),
              dry.kernels().attention_backward_workspace_bytes(attention));
  }
}

}  // namespace
}  // namespace galvatron::kernels::test
