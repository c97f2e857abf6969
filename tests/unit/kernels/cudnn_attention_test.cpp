// Attention by cuDNN's graphs, played by a pretended library: what the graphs compute, where their tensors
// lie, what a call is cut into, and which calls the library gets at all.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "kernels/cuda/cudnn_player.hpp"
#include "parity/kernels/attention_parts.hpp"
#include "parity/kernels/results.hpp"
#include "support/pretended_cudnn.hpp"

namespace galvatron::kernels::test {
namespace {

using cuda::fused_key_of;
using cuda::FusedAttention;
using galvatron::test::pretended_cudnn;
using Mode = AlgorithmChooser::Mode;

struct Dims {
  int64_t samples, positions, pieces, heads, kv_heads, head_dim;
};

/// Queries, keys and values are columns of one matrix, as in a layer; so are their gradients.
struct Calls {
  Calls(Workbench& w, const Dims& dims) {
    const auto rows = dims.samples * dims.positions, q = dims.heads * dims.head_dim,
               kv = dims.kv_heads * dims.head_dim;
    const auto qkv = w.input(rows, q + 2 * kv), dqkv = w.output(rows, q + 2 * kv);
    set_attention_dims(forward, dims);
    set_attention_dims(backward, dims);
    forward.q = backward.q = columns(qkv, 0, q);
    forward.k = backward.k = columns(qkv, q, kv);
    forward.v = backward.v = columns(qkv, q + kv, kv);
    forward.out = backward.out = w.output(rows, q, 8);
    forward.lse = backward.lse = w.output_sums(rows, dims.heads, 3);
    backward.dout = w.input(rows, q);
    backward.dq = columns(dqkv, 0, q);
    backward.dk = columns(dqkv, q, kv);
    backward.dv = columns(dqkv, q + kv, kv);
  }
  void note(Workbench& w) const {
    w.result("out", forward.out);
    w.result("lse", forward.lse);
    w.result("dq", backward.dq);
    w.result("dk", backward.dk);
    w.result("dv", backward.dv);
  }
  AttentionArgs forward;
  AttentionBackwardArgs backward;
};

class CudnnAttention : public testing::Test {
 protected:
  void SetUp() override { pretended_cudnn() = {}; }
  void TearDown() override { EXPECT_EQ(pretended_cudnn().alive, 0) << "descriptors or handles were left"; }

  /// The n-th thing measured takes the n-th of `seconds`.
  std::unique_ptr<FusedAttention> open(std::vector<double> seconds,
                                       int64_t portion_bytes = cuda::fused_portion_bytes) {
    auto watch = [seconds, at = size_t{0}](void*, const FusedAttention::Queue& queue) mutable {
      queue();
      return seconds.at(at++);
    };
    return std::make_unique<FusedAttention>(cudnn_library(), "device", std::move(watch), portion_bytes);
  }
  static cuda::cudnn::Library cudnn_library() {
    return cuda::cudnn::Library(galvatron::test::pretended_cudnn_functions());
  }

  /// Both directions by the library against the CPU's kernels on the same numbers.
  void expect_agrees(const Dims& dims, DType dtype, int64_t portion_bytes, int64_t launches) {
    SCOPED_TRACE(core::name(dtype));
    const auto fused = open({2, 1, 2, 1}, portion_bytes);
    fused->chooser().set_mode(Mode::measured);
    Workbench expected(DeviceKind::cpu, dtype, 1, dtype), got(DeviceKind::cpu, dtype, 1, dtype);
    Calls there(expected, dims), here(got, dims);
    there.forward.workspace = expected.scratch(expected.kernels().attention_workspace_bytes(there.forward));
    there.backward.workspace =
        expected.scratch(expected.kernels().attention_backward_workspace_bytes(there.backward));
    expected.kernels().attention(expected.stream(), there.forward);
    expected.kernels().attention_backward(expected.stream(), there.backward);
    here.forward.workspace = got.scratch(fused->workspace_bytes(here.forward));
    here.backward.workspace = got.scratch(fused->workspace_bytes(here.backward));
    EXPECT_TRUE(fused->run(nullptr, here.forward, [] {}));
    pretended_cudnn().executed = 0;
    EXPECT_TRUE(fused->run(nullptr, here.backward, [] {}));
    EXPECT_EQ(pretended_cudnn().executed, 2 * launches) << "measured, then played";
    got.expect_guards_intact();
    there.note(expected);
    here.note(got);
    expect_near(got.results(), expected.results(), 4 * rounding_of(dtype));
  }
};

TEST_F(CudnnAttention, ComputesWhatTheContractSays) {
  pretended_cudnn().workspaces = {100};
  for (const auto dtype : {DType::bf16, DType::f16}) {
    expect_agrees({2, 128, 1, 2, 2, 8}, dtype, cuda::fused_portion_bytes, 1);
    expect_agrees({1, 128, 2, 4, 2, 8}, dtype, cuda::fused_portion_bytes, 1);
  }
}

TEST_F(CudnnAttention, IsCutIntoPortionsThatFit) {
  constexpr int64_t head = (128 + 2 * 8) * 128 * 2;
  expect_agrees({2, 128, 1, 2, 2, 8}, DType::bf16, 2 * head, 2);
  expect_agrees({2, 128, 1, 4, 2, 8}, DType::bf16, 2 * head, 4);
}

TEST_F(CudnnAttention, IsTheOwnKernelsWhereThatIsFaster) {
  const auto fused = open({1, 2});
  fused->chooser().set_mode(Mode::measured);
  Workbench w(DeviceKind::cpu, DType::bf16, 1);
  Calls calls(w, {1, 16, 1, 2, 1, 8});
  calls.forward.workspace = w.scratch(fused->workspace_bytes(calls.forward));
  int own = 0;
  EXPECT_FALSE(fused->run(nullptr, calls.forward, [&] { ++own; }));
  EXPECT_EQ(own, 1);
  EXPECT_EQ(fused->chooser().kept(text_of(*fused_key_of(calls.forward))), "own");
  EXPECT_EQ(fused->workspace_bytes(calls.forward), 0) << "no memory for what is not used";
}

TEST_F(CudnnAttention, IsTheOwnKernelsWhereNothingWasMeasured) {
  const auto fused = open({});
  Workbench w(DeviceKind::cpu, DType::bf16, 1);
  Calls calls(w, {1, 16, 1, 2, 1, 8});
  EXPECT_EQ(fused->workspace_bytes(calls.forward), 0);
  calls.forward.workspace = w.scratch(1 << 20);
  EXPECT_FALSE(fused->run(nullptr, calls.forward, [] { ADD_FAILURE() << "not to be measured"; }));
  EXPECT_EQ(pretended_cudnn().executed, 0);
}

TEST_F(CudnnAttention, UsesThePlanThatAProfileNames) {
  pretended_cudnn().workspaces = {64, int64_t{1} << 40, -1, 32, 16};
  const auto measuring = open({4, 3, 1, 2});
  measuring->chooser().set_mode(Mode::measured);
  Workbench w(DeviceKind::cpu, DType::bf16, 1);
  Calls calls(w, {1, 16, 1, 2, 1, 8});
  calls.forward.workspace = w.scratch(measuring->workspace_bytes(calls.forward));
  EXPECT_TRUE(measuring->run(nullptr, calls.forward, [] {}));
  const auto name = text_of(*fused_key_of(calls.forward));
  EXPECT_EQ(measuring->chooser().kept(name), "cuDNN 1")
      << "of the plans that can be made in the workspace, the second";
  const auto training = open({});
  EXPECT_EQ(training->chooser().use(measuring->chooser().choices()), 1);
  EXPECT_EQ(training->workspace_bytes(calls.forward), calls.forward.workspace.bytes());
  pretended_cudnn().executed = 0;
  EXPECT_TRUE(training->run(nullptr, calls.forward, [] { ADD_FAILURE() << "not to be measured"; }));
  EXPECT_EQ(pretended_cudnn().executed, 1);
}

TEST_F(CudnnAttention, LeavesCallsThatItHasNoKernelFor) {
  Workbench w(DeviceKind::cpu, DType::bf16, 1);
  const Calls good(w, {2, 128, 1, 2, 1, 8});
  EXPECT_TRUE(fused_key_of(good.forward));
  EXPECT_TRUE(fused_key_of(good.backward));
  const auto refuses = [&](const char* why, const auto& change) {
    auto forward = good.forward;
    auto backward = good.backward;
    change(forward);
    change(backward);
    EXPECT_FALSE(fused_key_of(forward)) << why;
    EXPECT_FALSE(fused_key_of(backward)) << why;
  };
  refuses("fp32", [](auto& a) { a.q.dtype = DType::f32; });
  refuses("sums as result", [](auto& a) { a.out.dtype = DType::f32; });
  refuses("a part of a ring", [](auto& a) { a.part = AttentionPart::earlier; });
  refuses("rows in pieces", [](auto& a) { a.pieces = 2; });
  refuses("rows between 16 bytes", [](auto& a) { a.k.row_stride += 1; });
  refuses("wide heads", [](auto& a) { a.head_dim = 136; });
  refuses("heads between 16 bytes", [](auto& a) { a.head_dim = 12; });
  auto sums = good.forward;
  sums.write = Write::accumulate;
  EXPECT_FALSE(fused_key_of(sums));
  auto short_ones = good.backward;
  short_ones.positions = 64;
  EXPECT_FALSE(fused_key_of(short_ones)) << "half a tile of positions";
  EXPECT_FALSE(fused_key_of(good.backward, 128 * 128 * 2)) << "two heads' scores do not fit";
}

TEST_F(CudnnAttention, IsAbsentWhereTheLibraryIsOrDoesNotTakeTheDevice) {
  EXPECT_EQ(FusedAttention::open("device", {}, "libno_such_library.so"), nullptr);
  pretended_cudnn().takes_device = false;
  EXPECT_THROW(open({}), cuda::cudnn::Refusal);
}

}  // namespace
}  // namespace galvatron::kernels::test
