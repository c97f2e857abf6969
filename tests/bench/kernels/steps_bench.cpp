// How fast the cpu kernels are at the shapes of a 124M-parameter GPT: products beside oneDNN called directly,
// passes over memory in the bytes that they must move at least.
// Run with --benchmark_filter=…

#include <benchmark/benchmark.h>
#include <omp.h>

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

  TensorView matrix(int64_t rows, int64_t cols, core::DType dtype = core::DType::f32) {
    buffers_.emplace_back(*device_, rows * cols * 4);
    const auto view = device::matrix(buffers_.back().data(), core::DType::f32, rows, cols);
    for (int64_t i = 0; i < rows * cols; ++i) {
      view.as<float>()[i] = static_cast<float>((i * 7919) % 2003) / 1001.5F - 1.0F;
    }
    if (dtype == core::DType::f32) return view;
    buffers_.emplace_back(*device_, rows * cols * core::size_of(dtype));
    const auto rounded = device::matrix(buffers_.back().data(), dtype, rows, cols);
    kernels().copy(stream(), view, rounded);
    return rounded;
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

/// Element types by their place in a benchmark's range.
core::DType type_of(int64_t index) {
  constexpr core::DType types[] = {core::DType::f32, core::DType::bf16, core::DType::f16};
  return types[index];
}

/// range: m, n, k, transposes (1 = a, 2 = b, 4 = accumulate, 8 = bias), threads, element type.
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
  const auto type = type_of(state.range(5));
  args.a = flags & 1 ? place.matrix(k, m, type) : place.matrix(m, k, type);
  args.b = flags & 2 ? place.matrix(n, k, type) : place.matrix(k, n, type);
  args.c = place.matrix(m, n, flags & 4 ? core::DType::f32 : type);
  if (flags & 8) args.bias = place.matrix(1, n, type);
  args.workspace = place.scratch(place.kernels().gemm_workspace_bytes(args));
  for (auto _ : state) place.kernels().gemm(place.stream(), args);
  rate(state, "GFLOP", 2.0 * static_cast<double>(m * n * k));
}

/// oneDNN called directly, for the ratio. range: m, n, k, transposes and accumulation as above, threads.
void onednn_sgemm(benchmark::State& state) {
  const auto m = state.range(0);
  const auto n = state.range(1);
  const auto k = state.range(2);
  const auto flags = state.range(3);
  omp_set_num_threads(static_cast<int>(state.range(4)));
  Place place(1);
  const auto a = flags & 1 ? place.matrix(k, m) : place.matrix(m, k);
  const auto b = flags & 2 ? place.matrix(n, k) : place.matrix(k, n);
  const auto c = place.matrix(m, n);
  for (auto _ : state) {
    dnnl::sgemm(flags & 1 ? 'T' : 'N', flags & 2 ? 'T' : 'N', m, n, k, 1.0F, a.as<float>(), a.cols,
                b.as<float>(), b.cols, flags & 4 ? 1.0F : 0.0F, c.as<float>(), n);
  }
  rate(state, "GFLOP", 2.0 * static_cast<double>(m * n * k));
}

constexpr int64_t tokens = 1024;
constexpr int64_t hidden = 768;

void norm(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  NormArgs args;
  const auto type = type_of(state.range(1));
  args.x = place.matrix(tokens, hidden, type);
  args.gamma = place.matrix(1, hidden, type);
  args.beta = place.matrix(1, hidden, type);
  args.y = place.matrix(tokens, hidden, type);
  args.stats = place.matrix(tokens, 2);
  for (auto _ : state) place.kernels().norm(place.stream(), args);
  rate(state, "GB", 2.0 * static_cast<double>(args.x.bytes()));
}

void norm_backward(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  NormBackwardArgs args;
  const auto type = type_of(state.range(1));
  args.x = place.matrix(tokens, hidden, type);
  args.gamma = place.matrix(1, hidden, type);
  args.stats = place.matrix(tokens, 2);
  args.dy = place.matrix(tokens, hidden, type);
  args.residual = place.matrix(tokens, hidden, type);
  args.dx = args.residual;
  args.dgamma = place.matrix(1, hidden);
  args.dbeta = place.matrix(1, hidden);
  args.workspace = place.scratch(place.kernels().norm_backward_workspace_bytes(args));
  for (auto _ : state) place.kernels().norm_backward(place.stream(), args);
  rate(state, "GB", 4.0 * static_cast<double>(args.x.bytes()));
}

/// range: threads, kind, backward, element type.
void activation(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  const auto kind = state.range(1) == 0 ? ActivationKind::gelu : ActivationKind::swiglu;
  const auto wide = kind == ActivationKind::swiglu ? 2 : 1;
  const auto type = type_of(state.range(3));
  const auto x = place.matrix(tokens, wide * 3072, type);
  const auto y = place.matrix(tokens, 3072, type);
  const auto dx = place.matrix(tokens, wide * 3072, type);
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
  const auto type = type_of(state.range(1));
  const auto a = place.matrix(8 * tokens, hidden, type);
  const auto b = place.matrix(8 * tokens, hidden, type);
  const auto bias = place.matrix(1, hidden, type);
  for (auto _ : state) place.kernels().add(place.stream(), a, b, bias, a);
  rate(state, "GB", 3.0 * static_cast<double>(a.bytes()));
}

void column_sum(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  const auto x = place.matrix(tokens, 3072, type_of(state.range(1)));
  const auto out = place.matrix(1, 3072);
  for (auto _ : state) place.kernels().column_sum(place.stream(), x, out);
  rate(state, "GB", static_cast<double>(x.bytes()));
}

void cross_entropy(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  constexpr int64_t rows = 64;
  CrossEntropyArgs args;
  args.logits = place.matrix(rows, 50304, type_of(state.range(1)));
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
  const auto type = type_of(state.range(1));
  if (type != core::DType::f32) args.working = place.matrix(1, count, type);
  const core::DecayRange ranges[] = {{0, count, true}};
  args.decay = ranges;
  args.weight_decay = 0.1;
  args.lr = 1e-4;
  for (auto _ : state) place.kernels().adamw(place.stream(), args);
  rate(state, "GB", 8.0 * static_cast<double>(count * 4) + static_cast<double>(args.working.bytes()));
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
  const auto from = place.matrix(8 * tokens, hidden, type_of(state.range(1)));
  const auto to = place.matrix(8 * tokens, hidden);
  for (auto _ : state) place.kernels().copy(place.stream(), from, to);
  rate(state, "GB", static_cast<double>(from.bytes() + to.bytes()));
}

void rope(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  RopeArgs args;
  args.x = args.y = place.matrix(4 * tokens, hidden, type_of(state.range(1)));
  args.positions = {4, 1, tokens, 0, tokens, 0, 0};
  args.heads = hidden / 64;
  args.head_dim = 64;
  for (auto _ : state) place.kernels().rope(place.stream(), args);
  rate(state, "GB", 2.0 * static_cast<double>(args.x.bytes()));
}

/// The products of a 124M-parameter GPT: forward, data gradient, accumulated weight gradient, and the head's.
void gemm_shapes(benchmark::internal::Benchmark* bench, const std::vector<int64_t>& types) {
  const std::vector<std::vector<int64_t>> shapes = {
      {1024, 2304, 768, 2}, {1024, 3072, 768, 2}, {1024, 768, 3072, 2}, {1024, 768, 2304, 0},
      {1024, 768, 3072, 0}, {2304, 768, 1024, 5}, {3072, 768, 1024, 5}, {4096, 3072, 768, 2},
      {256, 50304, 768, 2}, {256, 768, 50304, 0}, {50304, 768, 256, 5}};
  bench->UseRealTime()->Unit(benchmark::kMillisecond)->ArgNames({"m", "n", "k", "flags", "threads", "type"});
  for (const auto& shape : shapes) {
    for (const int64_t threads : {1, 2}) {
      for (const auto type : types) {
        auto args = shape;
        args.push_back(threads);
        args.push_back(type);
        bench->Args(args);
      }
    }
  }
}

/// Threads × element types.
void passes(benchmark::internal::Benchmark* bench) {
  bench->UseRealTime()->ArgNames({"threads", "type"})->ArgsProduct({{1, 2}, {0, 1, 2}});
}

BENCHMARK(onednn_sgemm)->Apply([](auto* bench) { gemm_shapes(bench, {0}); });
BENCHMARK(gemm)->Apply([](auto* bench) { gemm_shapes(bench, {0, 1}); });
BENCHMARK(activation)
    ->UseRealTime()
    ->ArgNames({"threads", "swiglu", "backward", "type"})
    ->ArgsProduct({{1, 2}, {0, 1}, {0, 1}, {0, 1}});
BENCHMARK(norm)->Apply(passes);
BENCHMARK(norm_backward)->Apply(passes);
BENCHMARK(add)->Apply(passes);
BENCHMARK(column_sum)->Apply(passes);
BENCHMARK(cross_entropy)->Apply(passes);
BENCHMARK(adamw)->Apply(passes);
BENCHMARK(copy)->Apply(passes);
BENCHMARK(rope)->Apply(passes);
BENCHMARK(sum_of_squares)->UseRealTime()->Arg(1)->Arg(2);

}  // namespace
}  // namespace galvatron::kernels
