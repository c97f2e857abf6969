#pragma once
// The fast path: fp32 arithmetic on elements of fp32, bf16 or fp16, on some threads, inner loops by the
// processor's vectors. Shapes have been checked by the caller. The meaning of each is in kernels.hpp.

#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/simd/simd.hpp"
#include "kernels/kernels.hpp"

namespace galvatron::kernels {

class Fp32 {
 public:
  Fp32(int threads, const Simd& simd) : threads_(threads), simd_(simd), gemm_(threads, simd) {}

  int64_t gemm_workspace_bytes(const GemmArgs& args) { return gemm_.workspace_bytes(args); }

  void gemm(const GemmArgs& args) { gemm_.run(args); }
  void norm(const NormArgs& args);
  void norm_backward(const NormBackwardArgs& args);
  void activation(ActivationKind kind, const TensorView& x, const TensorView& y);
  void activation_backward(ActivationKind kind, const TensorView& x, const TensorView& dy,
                           const TensorView& dx);
  void attention(const AttentionArgs& args);
  void attention_backward(const AttentionBackwardArgs& args);
  void add(const TensorView& a, const TensorView& b, const TensorView& bias, const TensorView& out);
  void column_sum(const TensorView& x, const TensorView& out);
  void embedding(const TensorView& ids, const TensorView& table, int64_t first_id, const TensorView& out);
  void embedding_backward(const TensorView& ids, const TensorView& dout, int64_t first_id,
                          const TensorView& dtable);
  void add_positions(const TensorView& x, const TensorView& table, const RowPositions& positions,
                     const TensorView& out);
  void add_positions_backward(const TensorView& dout, const RowPositions& positions,
                              const TensorView& dtable);
  void rope(const RopeArgs& args);
  void cross_entropy(const CrossEntropyArgs& args);
  void fill(const TensorView& x, double value);
  void convert(const TensorView& from, const TensorView& to);
  void adamw(const AdamWArgs& args);
  void sgd(const TensorView& parameter, const TensorView& gradient, const TensorView& working, double lr,
           double gradient_scale);
  void sum_of_squares(const TensorView& x, const TensorView& out);

 private:
  int threads_;
  const Simd& simd_;
  Gemm gemm_;
};

}  // namespace galvatron::kernels
