// How fast attention is, in the flops that its part needs, beside the product of two large matrices measured
// in turn with it: both per second of processor time, so that a busy machine changes neither much. GPT's and
// LLaMA's shapes; run with --benchmark_filter=…

#include <benchmark/benchmark.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <deque>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "kernels/kernels.hpp"

namespace galvatron::kernels {
namespace {

using core::DType;

class Place {
 public:
  explicit Place(int threads) : kernels_(make_kernels(*device_, threads)) {}

  Kernels& kernels() { return *kernels_; }
  Stream& stream() { return *stream_; }

  TensorView zeros(DType dtype, int64_t rows, int64_t cols) {
    buffers_.emplace_back(*device_, rows * cols * core::size_of(dtype));
    const auto view = device::matrix(buffers_.back().data(), dtype, rows, cols);
    std::fill_n(view.data, view.bytes(), std::byte{});
    return view;
  }

  /// fp32 numbers in ±1, or bit patterns of small 16-bit numbers of any sign.
  TensorView matrix(DType dtype, int64_t rows, int64_t cols) {
    const auto view = zeros(dtype, rows, cols);
    const auto one = dtype == DType::bf16 ? 0x3f80 : 0x3c00;
    for (int64_t i = 0; i < rows * cols; ++i) {
      const auto number = (i * 7919) % 2003;
      if (dtype == DType::f32) {
        view.as<float>()[i] = static_cast<float>(number) / 1001.5F - 1.0F;
      } else {
        view.as<uint16_t>()[i] = static_cast<uint16_t>((number & 1) << 15 | (one - number % 512));
      }
    }
    return view;
  }

  TensorView scratch(int64_t bytes) { return zeros(DType::u8, 1, std::max<int64_t>(bytes, 1)); }

 private:
  std::unique_ptr<device::Device> device_ = device::make_device(device::DeviceKind::cpu);
  std::unique_ptr<Stream> stream_ = device_->make_stream();
  std::unique_ptr<Kernels> kernels_;
  std::deque<device::Buffer> buffers_;
};

struct Problem {
  AttentionArgs forward;
  AttentionBackwardArgs backward;
  double flops;  ///< of one product of queries and keys
};

TensorView columns(TensorView view, int64_t begin, int64_t count) {
  view.data += begin * core::size_of(view.dtype);
  view.cols = count;
  return view;
}

template <class Args>
void set_dims(Args& args, const benchmark::State& state) {
  args.samples = state.range(0);
  args.positions = state.range(1);
  args.heads = state.range(2);
  args.kv_heads = state.range(3);
  args.head_dim = state.range(4);
  args.scale = 1.0 / std::sqrt(static_cast<double>(args.head_dim));
  args.part = static_cast<AttentionPart>(state.range(7));
}

Problem make_problem(Place& place, const benchmark::State& state) {
  constexpr DType types[] = {DType::f32, DType::bf16, DType::f16};
  const auto type = types[state.range(6)];
  Problem p{};
  set_dims(p.forward, state);
  set_dims(p.backward, state);
  auto& f = p.forward;
  auto& b = p.backward;
  const auto rows = f.samples * f.positions;
  const auto q_cols = f.heads * f.head_dim;
  const auto kv_cols = f.kv_heads * f.head_dim;
  const auto qkv = place.matrix(type, rows, q_cols + 2 * kv_cols);
  const auto dqkv = place.matrix(type, rows, q_cols + 2 * kv_cols);
  b.q = f.q = columns(qkv, 0, q_cols);
  b.k = f.k = columns(qkv, q_cols, kv_cols);
  b.v = f.v = columns(qkv, q_cols + kv_cols, kv_cols);
  b.out = f.out = place.matrix(type, rows, q_cols);
  b.lse = f.lse = place.zeros(DType::f32, rows, f.heads);
  b.dout = place.matrix(type, rows, q_cols);
  b.dq = columns(dqkv, 0, q_cols);
  b.dk = columns(dqkv, q_cols, kv_cols);
  b.dv = columns(dqkv, q_cols + kv_cols, kv_cols);
  f.workspace = place.scratch(place.kernels().attention_workspace_bytes(f));
  b.workspace = place.scratch(place.kernels().attention_backward_workspace_bytes(b));
  const auto n = static_cast<double>(f.positions);
  const auto pairs = f.part == AttentionPart::diagonal ? n * (n + 1) / 2 : n * n / 2;
  p.flops = 2.0 * pairs * static_cast<double>(f.samples * f.heads * f.head_dim);
  return p;
}

/// Seconds of processor time of all threads.
template <class Body>
double processor_seconds(Body body) {
  timespec begin{}, end{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  body();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  return static_cast<double>(end.tv_sec - begin.tv_sec) +
         1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
}

/// Alternates body with a product of 768 × 768 matrices and reports the best of each: the others had company.
template <class Body>
void beside_a_product(benchmark::State& state, Place& place, double flops, Body body) {
  constexpr int64_t size = 768;
  const auto a = place.matrix(DType::f32, size, size);
  const auto b = place.matrix(DType::f32, size, size);
  const auto c = place.matrix(DType::f32, size, size);
  omp_set_num_threads(1);
  std::vector<double> product, mine;
  for (auto _ : state) {
    product.push_back(processor_seconds([&] {
      dnnl::sgemm('N', 'N', size, size, size, 1.0F, a.as<float>(), size, b.as<float>(), size, 0.0F,
                  c.as<float>(), size);
    }));
    mine.push_back(processor_seconds(body));
    state.SetIterationTime(mine.back());
  }
  const auto peak =
      2e-9 * static_cast<double>(size * size * size) / *std::min_element(product.begin(), product.end());
  const auto rate = 1e-9 * flops / *std::min_element(mine.begin(), mine.end());
  state.counters["GFLOP/s"] = rate;
  state.counters["product"] = peak;
  state.counters["of_product"] = rate / peak;
}

void attention(benchmark::State& state) {
  Place place(static_cast<int>(state.range(5)));
  const auto p = make_problem(place, state);
  beside_a_product(state, place, 2 * p.flops, [&] { place.kernels().attention(place.stream(), p.forward); });
}

void attention_backward(benchmark::State& state) {
  Place place(static_cast<int>(state.range(5)));
  const auto p = make_problem(place, state);
  place.kernels().attention(place.stream(), p.forward);
  beside_a_product(state, place, 5 * p.flops,
                   [&] { place.kernels().attention_backward(place.stream(), p.backward); });
}

void shapes(benchmark::internal::Benchmark* b) {
  b->UseManualTime()->Unit(benchmark::kMillisecond);
  b->ArgNames({"b", "s", "heads", "kv", "width", "threads", "type", "part"});
  for (const int64_t type : {0, 1, 2}) {
    b->Args({4, 256, 12, 12, 64, 1, type, 0})->Args({4, 1024, 12, 12, 64, 1, type, 0});
    b->Args({1, 256, 32, 8, 128, 1, type, 0})->Args({1, 1024, 32, 8, 128, 1, type, 0});
  }
  b->Args({1, 1024, 12, 12, 64, 1, 0, 1})->Args({1, 1024, 12, 12, 64, 1, 0, 2});
}

BENCHMARK(attention)->Apply(shapes);
BENCHMARK(attention_backward)->Apply(shapes);

}  // namespace
}  // namespace galvatron::kernels
