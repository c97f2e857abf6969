// The host's kernels: checks shapes, then hands the call to the fp64 bodies or to those in fp32 arithmetic.

#include <cstring>

#include "core/errors.hpp"
#include "kernels/backends.hpp"
#include "kernels/checks.hpp"
#include "kernels/cpu/fp32.hpp"
#include "kernels/cpu/fp64.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/rows.hpp"
#include "kernels/workspace.hpp"

namespace galvatron::kernels {
namespace {

bool is_fp64(const TensorView& view) {
  return view.dtype == core::DType::f64;
}

class CpuKernels final : public Kernels {
 public:
  CpuKernels(int threads, const Simd& simd) : threads_(threads), fp32_(threads, simd) {}

  void gemm(Stream&, const GemmArgs& args) override {
    checks::gemm(args);
    is_fp64(args.a) ? fp64::gemm(args) : fp32_.gemm(args);
  }

  void norm(Stream&, const NormArgs& args) override {
    checks::norm(args);
    is_fp64(args.x) ? fp64::norm(args) : fp32_.norm(args);
  }

  void norm_backward(Stream&, const NormBackwardArgs& args) override {
    checks::norm_backward(args);
    checks::workspace("norm_backward", args.workspace, norm_backward_workspace_bytes(args));
    is_fp64(args.x) ? fp64::norm_backward(args) : fp32_.norm_backward(args);
  }

  void activation(Stream&, ActivationKind kind, TensorView x, TensorView y) override {
    checks::activation(kind, x, y);
    is_fp64(y) ? fp64::activation(kind, x, y) : fp32_.activation(kind, x, y);
  }

  void activation_backward(Stream&, ActivationKind kind, TensorView x, TensorView dy,
                           TensorView dx) override {
    checks::activation_backward(kind, x, dy, dx);
    is_fp64(dy) ? fp64::activation_backward(kind, x, dy, dx) : fp32_.activation_backward(kind, x, dy, dx);
  }

  void attention(Stream&, const AttentionArgs& args) override {
    checks::attention(args);
    checks::workspace("attention", args.workspace, attention_workspace_bytes(args));
    is_fp64(args.q) ? fp64::attention(args) : fp32_.attention(args);
  }

  void attention_backward(Stream&, const AttentionBackwardArgs& args) override {
    checks::attention_backward(args);
    checks::workspace("attention_backward", args.workspace, attention_backward_workspace_bytes(args));
    is_fp64(args.q) ? fp64::attention_backward(args) : fp32_.attention_backward(args);
  }

  void add(Stream&, TensorView a, TensorView b, TensorView bias, TensorView out) override {
    checks::add(a, b, bias, out);
    is_fp64(out) ? fp64::add(a, b, bias, out) : fp32_.add(a, b, bias, out);
  }

  void column_sum(Stream&, TensorView x, TensorView out) override {
    checks::column_sum(x, out);
    is_fp64(x) ? fp64::column_sum(x, out) : fp32_.column_sum(x, out);
  }

  void embedding(Stream&, TensorView ids, TensorView table, int64_t first_id, TensorView out) override {
    checks::embedding(ids, table, out);
    is_fp64(out) ? fp64::embedding(ids, table, first_id, out) : fp32_.embedding(ids, table, first_id, out);
  }

  void embedding_backward(Stream&, TensorView ids, TensorView dout, int64_t first_id,
                          TensorView dtable) override {
    checks::embedding_backward(ids, dout, dtable);
    is_fp64(dout) ? fp64::embedding_backward(ids, dout, first_id, dtable)
                  : fp32_.embedding_backward(ids, dout, first_id, dtable);
  }

  void add_positions(Stream&, TensorView x, TensorView table, const RowPositions& positions,
                     TensorView out) override {
    checks::add_positions(x, table, positions, out);
    is_fp64(x) ? fp64::add_positions(x, table, positions, out)
               : fp32_.add_positions(x, table, positions, out);
  }

  void add_positions_backward(Stream&, TensorView dout, const RowPositions& positions,
                              TensorView dtable) override {
    checks::add_positions_backward(dout, positions, dtable);
    is_fp64(dout) ? fp64::add_positions_backward(dout, positions, dtable)
                  : fp32_.add_positions_backward(dout, positions, dtable);
  }

  void rope(Stream&, const RopeArgs& args) override {
    checks::rope(args);
    is_fp64(args.x) ? fp64::rope(args) : fp32_.rope(args);
  }

  void cross_entropy(Stream&, const CrossEntropyArgs& args) override {
    checks::cross_entropy(args);
    is_fp64(args.logits) ? fp64::cross_entropy(args) : fp32_.cross_entropy(args);
  }

  void fill(Stream&, TensorView x, double value) override {
    checks::fill(x);
    is_fp64(x) ? fp64::fill(x, value) : fp32_.fill(x, value);
  }

  void copy(Stream&, TensorView from, TensorView to) override {
    checks::copy(from, to);
    if (from.dtype != to.dtype) return fp32_.convert(from, to);
    const auto size = core::size_of(from.dtype);
    const auto whole = from.contiguous() && to.contiguous();
    const auto rows = whole ? 1 : from.rows;
    const auto bytes = (whole ? from.elements() : from.cols) * size;
    const auto share = [&](int64_t begin, int64_t end, int) {
      for (int64_t i = 0; i < rows; ++i) {
        std::memcpy(to.data + i * to.row_stride * size + begin,
                    from.data + i * from.row_stride * size + begin, static_cast<size_t>(end - begin));
      }
    };
    parallel_shares(threads_for(threads_, from.elements()), bytes, 64, share);
  }

  void adamw(Stream&, const AdamWArgs& args) override {
    checks::adamw(args);
    is_fp64(args.parameter) ? fp64::adamw(args) : fp32_.adamw(args);
  }

  void sgd(Stream&, TensorView parameter, TensorView gradient, TensorView working, double lr,
           double gradient_scale) override {
    checks::sgd(parameter, gradient, working);
    is_fp64(parameter) ? fp64::sgd(parameter, gradient, working, lr, gradient_scale)
                       : fp32_.sgd(parameter, gradient, working, lr, gradient_scale);
  }

  void sum_of_squares(Stream&, TensorView x, TensorView out) override {
    checks::sum_of_squares(x, out);
    is_fp64(x) ? fp64::sum_of_squares(x, out) : fp32_.sum_of_squares(x, out);
  }

  int64_t gemm_workspace_bytes(const GemmArgs& args) override {
    return is_fp64(args.a) ? 0 : fp32_.gemm_workspace_bytes(args);
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
  Fp32 fp32_;
};

}  // namespace

std::unique_ptr<Kernels> make_cpu_kernels(int threads, const Simd& simd) {
  return std::make_unique<CpuKernels>(threads, simd);
}

}  // namespace galvatron::kernels
