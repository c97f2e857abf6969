// How fast the cpu kernels are at the shapes of a 124M-parameter GPT: products beside oneDNN called directly,
// attention in the flops that causality leaves, passes over memory in the bytes that they must move at least.
// Run with --benchmark_filter=…

#include <benchmark/benchmark.h>
#include <omp.h>

#include <cmath>
#include <deque>
#include <oneapi/dnnl/dnnl.hpp>

#include "kernels/kernels.hpp"

namespace galvatron::kernels {
namespace {

class Place {
 public:
  explicit Place(int threads) : kernels_(make_kernels(*device_, threads)) {}

  Kernels& kernels() { return *kernels_; }
  Stream& stream() { return *stream_; }

  TensorView matrix(int64_t rows, int64_t cols) {
    buffers_.emplace_back(*device_, rows * cols * 4);
    const auto view = device::matrix(buffers_.back().data(), core::DType::f32, rows, cols);
    for (int64_t i = 0; i < rows * cols; ++i) {
      view.as<float>()[i] = static_cast<float>((i * 7919) % 2003) / 1001.5F - 1.0F;
    }
    return view;
  }

  TensorView scratch(int64_t bytes) {
    if (bytes == 0) return {};
    buffers_.emplace_back(*device_, bytes);
    return device::vector(buffers_.back().data(), core::DType::u8, bytes);
  }

 private:
  std::unique_ptr<device::Device> device_ = device::make_device(device::DeviceKind::cpu);
  std::unique_ptr<Stream> stream_ = device_->make_stream();
  std::unique_ptr<Kernels> kernels_;
  std::deque<device::Buffer> buffers_;
};

void rate(benchmark::State& state, const char* name, double amount) {
  state.counters[name] = benchmark::Counter(amount * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

/// range: m, n, k, transposes (1 = a, 2 = b, 4 = accumulate, 8 = bias), threads.
void gemm(benchmark::State& state) {
  const auto m = state.range(0);
  const auto n = state.range(1);
  const auto k = state.range(2);
  const auto flags = state.range(3);
  Place place(static_cast<int>(state.range(4)));
  GemmArgs args;
  args.transpose_a = flags & 1 ? Transpose::yes : Transpose::no;
  args.transpose_b = flags & 2 ? Transpose::yes : Transpose::no;
  args.write = flags & 4 ? Write::accumulate : Write::overwrite;
  args.a = flags & 1 ? place.matrix(k, m) : place.matrix(m, k);
  args.b = flags & 2 ? place.matrix(n, k) : place.matrix(k, n);
  args.c = place.matrix(m, n);
  if (flags & 8) args.bias = place.matrix(1, n);
  args.workspace = place.scratch(place.kernels().gemm_workspace_bytes(args));
  for (auto _ : state) place.kernels().gemm(place.stream(), args);
  rate(state, "GFLOP", 2.0 * static_cast<double>(m * n * k));
}

void onednn_sgemm(benchmark::State& state) {
  const auto size = state.range(0);
  omp_set_num_threads(1);
  Place place(1);
  const auto a = place.matrix(size, size);
  const auto b = place.matrix(size, size);
  const auto c = place.matrix(size, size);
  for (auto _ : state) {
    dnnl::sgemm('N', 'N', size, size, size, 1.0F, a.as<float>(), size, b.as<float>(), size, 0.0F,
                c.as<float>(), size);
  }
  rate(state, "GFLOP", 2.0 * static_cast<double>(size * size * size));
}

template <class Args>
void set_dims(Args& args, const benchmark::State& state) {
  args.samples = state.range(0);
  args.positions = state.range(1);
  args.heads = args.kv_heads = state.range(2);
  args.head_dim = state.range(3);
  args.scale = 1.0 / std::sqrt(static_cast<double>(args.head_dim));
}

TensorView columns(TensorView view, int64_t index, int64_t count) {
  view.data += index * count * 4;
  view.cols = count;
  return view;
}

AttentionArgs attention_args(Place& place, const benchmark::State& state) {
  AttentionArgs args;
  set_dims(args, state);
  const auto rows = args.samples * args.positions;
  const auto width = args.heads * args.head_dim;
  const auto qkv = place.matrix(rows, 3 * width);
  args.q = columns(qkv, 0, width);
  args.k = columns(qkv, 1, width);
  args.v = columns(qkv, 2, width);
  args.out = place.matrix(rows, width);
  args.lse = place.matrix(rows, args.heads);
  args.workspace = place.scratch(place.kernels().attention_workspace_bytes(args));
  return args;
}

/// Flops of one product over the lower triangle, all heads.
double triangle(const AttentionArgs& args) {
  const auto pairs = static_cast<double>(args.positions * (args.positions + 1)) / 2;
  return 2.0 * pairs * static_cast<double>(args.samples * args.heads * args.head_dim);
}

/// range: samples, positions, heads, head_dim, threads.
void attention(benchmark::State& state) {
  Place place(static_cast<int>(state.range(4)));
  const auto args = attention_args(place, state);
  for (auto _ : state) place.kernels().attention(place.stream(), args);
  rate(state, "GFLOP", 2 * triangle(args));
}

void attention_backward(benchmark::State& state) {
  Place place(static_cast<int>(state.range(4)));
  const auto forward = attention_args(place, state);
  place.kernels().attention(place.stream(), forward);
  AttentionBackwardArgs args;
  set_dims(args, state);
  args.q = forward.q;
  args.k = forward.k;
  args.v = forward.v;
  args.out = forward.out;
  args.lse = forward.lse;
  const auto gradient = place.matrix(args.q.rows, 3 * args.q.cols);
  args.dout = place.matrix(args.q.rows, args.q.cols);
  args.dq = columns(gradient, 0, args.q.cols);
  args.dk = columns(gradient, 1, args.q.cols);
  args.dv = columns(gradient, 2, args.q.cols);
  args.workspace = place.scratch(place.kernels().attention_backward_workspace_bytes(args));
  for (auto _ : state) place.kernels().attention_backward(place.stream(), args);
  rate(state, "GFLOP", 5 * triangle(forward));
}

constexpr int64_t tokens = 1024;
constexpr int64_t hidden = 768;

void norm(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  NormArgs args;
  args.x = place.matrix(tokens, hidden);
  args.gamma = place.matrix(1, hidden);
  args.beta = place.matrix(1, hidden);
  args.y = place.matrix(tokens, hidden);
  args.stats = place.matrix(tokens, 2);
  for (auto _ : state) place.kernels().norm(place.stream(), args);
  rate(state, "GB", 2.0 * static_cast<double>(args.x.bytes()));
}

void norm_backward(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  NormBackwardArgs args;
  args.x = place.matrix(tokens, hidden);
  args.gamma = place.matrix(1, hidden);
  args.stats = place.matrix(tokens, 2);
  args.dy = place.matrix(tokens, hidden);
  args.residual = place.matrix(tokens, hidden);
  args.dx = args.residual;
  args.dgamma = place.matrix(1, hidden);
  args.dbeta = place.matrix(1, hidden);
  args.workspace = place.scratch(place.kernels().norm_backward_workspace_bytes(args));
  for (auto _ : state) place.kernels().norm_backward(place.stream(), args);
  rate(state, "GB", 4.0 * static_cast<double>(args.x.bytes()));
}

/// range: threads, kind, backward.
void activation(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  const auto kind = state.range(1) == 0 ? ActivationKind::gelu : ActivationKind::swiglu;
  const auto wide = kind == ActivationKind::swiglu ? 2 : 1;
  const auto x = place.matrix(tokens, wide * 3072);
  const auto y = place.matrix(tokens, 3072);
  const auto dx = place.matrix(tokens, wide * 3072);
  for (auto _ : state) {
    if (state.range(2) == 0) {
      place.kernels().activation(place.stream(), kind, x, y);
    } else {
      place.kernels().activation_backward(place.stream(), kind, x, y, dx);
    }
  }
  rate(state, "GB", static_cast<double>(x.bytes() + y.bytes() + (state.range(2) == 0 ? 0 : dx.bytes())));
}

void add(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  const auto a = place.matrix(8 * tokens, hidden);
  const auto b = place.matrix(8 * tokens, hidden);
  const auto bias = place.matrix(1, hidden);
  for (auto _ : state) place.kernels().add(place.stream(), a, b, bias, a);
  rate(state, "GB", 3.0 * static_cast<double>(a.bytes()));
}

void column_sum(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  const auto x = place.matrix(tokens, 3072);
  const auto out = place.matrix(1, 3072);
  for (auto _ : state) place.kernels().column_sum(place.stream(), x, out);
  rate(state, "GB", static_cast<double>(x.bytes()));
}

void cross_entropy(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  constexpr int64_t rows = 64;
  CrossEntropyArgs args;
  args.logits = place.matrix(rows, 50304);
  args.labels = place.matrix(1, rows);
  args.labels.dtype = core::DType::i32;
  for (int64_t i = 0; i < rows; ++i) args.labels.as<int32_t>()[i] = static_cast<int32_t>(i * 700);
  args.loss = place.matrix(1, 2);
  args.loss = device::vector(args.loss.data, core::DType::f64, 1);
  args.vocab = 50257;
  args.scale = 1.0;
  for (auto _ : state) place.kernels().cross_entropy(place.stream(), args);
  rate(state, "GB", 2.0 * static_cast<double>(args.logits.bytes()));
}

void adamw(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  constexpr int64_t count = 8 << 20;
  AdamWArgs args;
  args.parameter = place.matrix(1, count);
  args.gradient = place.matrix(1, count);
  args.exp_avg = place.matrix(1, count);
  args.exp_avg_sq = place.matrix(1, count);
  place.kernels().fill(place.stream(), args.exp_avg_sq, 0.5);
  args.decay = {{0, count, true}};
  args.weight_decay = 0.1;
  args.lr = 1e-4;
  for (auto _ : state) place.kernels().adamw(place.stream(), args);
  rate(state, "GB", 8.0 * static_cast<double>(count * 4));
}

void sum_of_squares(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  const auto x = place.matrix(1, 8 << 20);
  const auto out = device::vector(place.matrix(1, 2).data, core::DType::f64, 1);
  for (auto _ : state) place.kernels().sum_of_squares(place.stream(), x, out);
  rate(state, "GB", static_cast<double>(x.bytes()));
}

void copy(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  const auto from = place.matrix(8 * tokens, hidden);
  const auto to = place.matrix(8 * tokens, hidden);
  for (auto _ : state) place.kernels().copy(place.stream(), from, to);
  rate(state, "GB", 2.0 * static_cast<double>(from.bytes()));
}

BENCHMARK(onednn_sgemm)->Arg(1024)->UseRealTime();
BENCHMARK(gemm)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"m", "n", "k", "flags", "threads"})
    ->ArgsProduct({{1024}, {3072}, {768}, {0, 2, 5, 8}, {1, 2}})
    ->Args({768, 3072, 1024, 5, 1})
    ->Args({64, 50304, 768, 2, 1})
    ->Args({1024, 1024, 1024, 0, 1});
BENCHMARK(attention)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"b", "s", "heads", "width", "threads"})
    ->ArgsProduct({{1}, {256, 1024, 4096}, {12}, {64}, {1, 2}})
    ->Args({1, 1024, 12, 32, 1})
    ->Args({1, 1024, 12, 128, 1});
BENCHMARK(attention_backward)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"b", "s", "heads", "width", "threads"})
    ->ArgsProduct({{1}, {256, 1024, 4096}, {12}, {64}, {1, 2}})
    ->Args({1, 1024, 12, 32, 1})
    ->Args({1, 1024, 12, 128, 1})
    ->Args({1, 1024, 1, 64, 2});
BENCHMARK(activation)
    ->UseRealTime()
    ->ArgNames({"threads", "swiglu", "backward"})
    ->ArgsProduct({{1, 2}, {0, 1}, {0, 1}});
BENCHMARK(norm)->UseRealTime()->Arg(1)->Arg(2);
BENCHMARK(norm_backward)->UseRealTime()->Arg(1)->Arg(2);
BENCHMARK(add)->UseRealTime()->Arg(1)->Arg(2);
BENCHMARK(column_sum)->UseRealTime()->Arg(1)->Arg(2);
BENCHMARK(cross_entropy)->UseRealTime()->Arg(1)->Arg(2);
BENCHMARK(adamw)->UseRealTime()->Arg(1)->Arg(2);
BENCHMARK(sum_of_squares)->UseRealTime()->Arg(1)->Arg(2);
BENCHMARK(copy)->UseRealTime()->Arg(1)->Arg(2);

}  // namespace
}  // namespace galvatron::kernels
