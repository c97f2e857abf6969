// The kernels of a rehearsal: every call's shapes are checked, nothing is computed, and workspaces have the
// sizes of the cpu's.

#include "kernels/backends.hpp"
#include "kernels/checks.hpp"
#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/simd/simd.hpp"
#include "kernels/workspace.hpp"

namespace galvatron::kernels {
namespace {

class DryKernels final : public Kernels {
 public:
  explicit DryKernels(int threads) : threads_(threads), gemm_(threads, *available_simd().table[0]) {}

  void gemm(Stream&, const GemmArgs& args) override {
    checks::gemm(args);
    checks::workspace("gemm", args.workspace, gemm_workspace_bytes(args));
  }
  void norm(Stream&, const NormArgs& args) override { checks::norm(args); }
  void norm_backward(Stream&, const NormBackwardArgs& args) override {
    checks::norm_backward(args);
    checks::workspace("norm_backward", args.workspace, norm_backward_workspace_bytes(args));
  }
  void activation(Stream&, ActivationKind kind, TensorView x, TensorView y) override {
    checks::activation(kind, x, y);
  }
  void activation_backward(Stream&, ActivationKind kind, TensorView x, TensorView dy,
                           TensorView dx) override {
    checks::activation_backward(kind, x, dy, dx);
  }
  void attention(Stream&, const AttentionArgs& args) override {
    checks::attention(args);
    checks::workspace("attention", args.workspace, attention_workspace_bytes(args));
  }
  void attention_backward(Stream&, const AttentionBackwardArgs& args) override {
    checks::attention_backward(args);
    checks::workspace("attention_backward", args.workspace, attention_backward_workspace_bytes(args));
  }
  void add(Stream&, TensorView a, TensorView b, TensorView bias, TensorView out) override {
    checks::add(a, b, bias, out);
  }
  void column_sum(Stream&, TensorView x, TensorView out) override { checks::column_sum(x, out); }
  void embedding(Stream&, TensorView ids, TensorView table, int64_t, TensorView out) override {
    checks::embedding(ids, table, out);
  }
  void embedding_backward(Stream&, TensorView ids, TensorView dout, int64_t, TensorView dtable) override {
    checks::embedding_backward(ids, dout, dtable);
  }
  void add_positions(Stream&, TensorView x, TensorView table, const RowPositions& positions,
                     TensorView out) override {
    checks::add_positions(x, table, positions, out);
  }
  void add_positions_backward(Stream&, TensorView dout, const RowPositions& positions,
                              TensorView dtable) override {
    checks::add_positions_backward(dout, positions, dtable);
  }
  void rope(Stream&, const RopeArgs& args) override { checks::rope(args); }
  void cross_entropy(Stream&, const CrossEntropyArgs& args) override { checks::cross_entropy(args); }
  void fill(Stream&, TensorView x, double) override { checks::fill(x); }
  void copy(Stream&, TensorView from, TensorView to) override { checks::copy(from, to); }
  void adamw(Stream&, const AdamWArgs& args) override { checks::adamw(args); }
  void sgd(Stream&, TensorView parameter, TensorView gradient, TensorView working, double, double) override {
    checks::sgd(parameter, gradient, working);
  }
  void sum_of_squares(Stream&, TensorView x, TensorView out) override { checks::sum_of_squares(x, out); }

  int64_t gemm_workspace_bytes(const GemmArgs& args) override {
    return args.a.dtype == core::DType::f64 ? 0 : gemm_.workspace_bytes(args);
  }
  int64_t norm_backward_workspace_bytes(const NormBackwardArgs& args) override {
    return workspace::norm_backward_bytes(args, threads_);
  }
  int64_t attention_workspace_bytes(const AttentionArgs& args) override {
    return workspace::attention_bytes(args, threads_);
  }
  int64_t attention_backward_workspace_bytes(const AttentionBackwardArgs& args) override {
    return workspace::attention_backward_bytes(args, threads_);
  }

 private:
  int threads_;
  Gemm gemm_;
};

}  // namespace

std::unique_ptr<Kernels> make_dry_kernels(int threads) {
  return std::make_unique<DryKernels>(threads);
}

}  // namespace galvatron::kernels
