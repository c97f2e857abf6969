// Attention by cuDNN on a CUDA device: the same bounds as the own kernel's, the same bits twice, and how fast
// it is beside that one. Whatever a profile would have chosen, a call here is made by the library's first
// plan.

#include <iostream>

#include "core/format.hpp"
#include "gpu/support.hpp"
#include "kernels/algorithm_chooser.hpp"
#include "kernels/cuda/fused_attention.hpp"
#include "parity/kernels/attention_parts.hpp"
#include "parity/kernels/results.hpp"

namespace galvatron::kernels::test {
namespace {

struct Dims {
  int64_t samples, positions, heads, kv_heads, head_dim;
  int64_t pieces = 1;
};

/// As in a layer: queries, keys and values are columns of one matrix.
template <class Input, class Output, class Sums>
std::pair<AttentionArgs, AttentionBackwardArgs> calls_of(const Dims& dims, const Input& input,
                                                         const Output& output, const Sums& sums) {
  const auto rows = dims.samples * dims.positions, q = dims.heads * dims.head_dim,
             kv = dims.kv_heads * dims.head_dim;
  AttentionArgs forward;
  AttentionBackwardArgs backward;
  const TensorView qkv = input(rows, q + 2 * kv), dqkv = output(rows, q + 2 * kv);
  set_attention_dims(forward, dims);
  set_attention_dims(backward, dims);
  forward.q = backward.q = columns(qkv, 0, q);
  forward.k = backward.k = columns(qkv, q, kv);
  forward.v = backward.v = columns(qkv, q + kv, kv);
  forward.out = backward.out = output(rows, q);
  forward.lse = backward.lse = sums(rows, dims.heads);
  backward.dout = input(rows, q);
  backward.dq = columns(dqkv, 0, q);
  backward.dk = columns(dqkv, q, kv);
  backward.dv = columns(dqkv, q + kv, kv);
  return {forward, backward};
}

/// From now on these calls are made so.
void decide(Kernels& kernels, const AttentionArgs& forward, const AttentionBackwardArgs& backward,
            const std::string& algorithm) {
  auto& chooser = *kernels.chooser(core::ChosenStep::attention);
  auto choices = chooser.choices();
  for (const auto& key : {cuda::fused_key_of(forward), cuda::fused_key_of(backward)})
    choices.algorithms[text_of(key.value())] = algorithm;
  chooser.use(choices);
}

class CudnnAttention : public testing::Test {
 protected:
  void SetUp() override {
    auto [device, reason] = galvatron::test::cuda_device();
    if (!device) GTEST_SKIP() << reason;
    device_ = std::move(device);
    if (make_kernels(*device_, 1)->chooser(core::ChosenStep::attention) == nullptr)
      GTEST_SKIP() << "no cuDNN 9.10 or later is found here";
  }

  static std::vector<Result> run(const Dims& dims, DeviceKind kind, DType dtype, DType exact) {
    Workbench w(kind, dtype, 1, exact);
    auto [forward, backward] = calls_of(
        dims, [&](int64_t rows, int64_t cols) { return w.input(rows, cols); },
        [&](int64_t rows, int64_t cols) { return w.output(rows, cols); },
        [&](int64_t rows, int64_t cols) { return w.output_sums(rows, cols); });
    if (kind == DeviceKind::cuda) decide(w.kernels(), forward, backward, "cuDNN 0");
    forward.workspace = w.scratch(w.kernels().attention_workspace_bytes(forward));
    backward.workspace = w.scratch(w.kernels().attention_backward_workspace_bytes(backward));
    w.kernels().attention(w.stream(), forward);
    w.kernels().attention_backward(w.stream(), backward);
    w.result("out", forward.out);
    w.result("lse", forward.lse);
    w.result("dq", backward.dq);
    w.result("dk", backward.dk);
    w.result("dv", backward.dv);
    return w.results();
  }

  std::unique_ptr<device::Device> device_;
};

TEST_F(CudnnAttention, AgreesWithFp64) {
  for (const auto& dims :
       {Dims{2, 128, 4, 4, 64}, Dims{1, 256, 8, 2, 128}, Dims{3, 256, 6, 3, 64}, Dims{1, 256, 4, 4, 64, 2}}) {
    for (const auto dtype : {DType::bf16, DType::f16}) {
      SCOPED_TRACE(core::format("{} positions, {}/{} heads of {} in {}", dims.positions, dims.heads,
                                dims.kv_heads, dims.head_dim, core::name(dtype)));
      const auto got = run(dims, DeviceKind::cuda, dtype, dtype);
      // Backward reads the forward's rounded result, and weights and slopes are elements.
      expect_near(got, run(dims, DeviceKind::cpu, DType::f64, dtype), 4 * rounding_of(dtype));
      expect_same_bits(got, run(dims, DeviceKind::cuda, dtype, dtype));
    }
  }
}

TEST_F(CudnnAttention, SpeedBesideTheOwnKernel) {
  const auto kernels = make_kernels(*device_, 1);
  const auto stream = device_->make_stream();
  for (const auto& dims :
       {Dims{16, 1024, 12, 12, 64}, Dims{16, 1024, 25, 25, 64}, Dims{1, 8192, 32, 8, 128}}) {
    std::vector<device::Buffer> memory;
    const auto make = [&](DType dtype) {
      return [&memory, dtype, this](int64_t rows, int64_t cols) {
        return TensorView{memory.emplace_back(*device_, rows * cols * core::size_of(dtype)).data(), dtype,
                          rows, cols, cols};
      };
    };
    auto [forward, backward] = calls_of(dims, make(DType::bf16), make(DType::bf16), make(DType::f32));
    for (const std::string algorithm : {"own", "cuDNN 0"}) {
      const auto fresh = make_kernels(*device_, 1);
      decide(*fresh, forward, backward, algorithm);
      const auto scratch = [&](int64_t bytes) {
        return bytes == 0
                   ? TensorView{}
                   : TensorView{memory.emplace_back(*device_, bytes).data(), DType::u8, 1, bytes, bytes};
      };
      forward.workspace = scratch(fresh->attention_workspace_bytes(forward));
      backward.workspace = scratch(fresh->attention_backward_workspace_bytes(backward));
      const auto milliseconds = [&](const auto& call) {
        call();
        const auto begin = device_->make_event(), end = device_->make_event();
        begin->record(*stream);
        for (int i = 0; i < 10; ++i) call();
        end->record(*stream);
        end->synchronize();
        return 100 * end->seconds_since(*begin);
      };
      const auto there = milliseconds([&] { fresh->attention(*stream, forward); });
      const auto back = milliseconds([&] { fresh->attention_backward(*stream, backward); });
      EXPECT_GT(there, 0);
      std::cout << core::format(
          "attention {}x{}, {}/{} heads of {}: {:7}: forward {:.3f} ms, backward {:.3f} ms\n", dims.samples,
          dims.positions, dims.heads, dims.kv_heads, dims.head_dim, algorithm, there, back);
    }
  }
}

}  // namespace
}  // namespace galvatron::kernels::test
