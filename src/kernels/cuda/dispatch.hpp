#pragma once
// Kernels of a CUDA device but for two things that a device or a library must give: the handle of a stream,
// and products. Checks shapes, then queues the step.

#include "kernels/cuda/steps.hpp"

namespace galvatron::kernels::cuda {

class Dispatch : public Kernels {
 public:
  void gemm(Stream& stream, const GemmArgs& args) override;
  void gemm_with(Stream& stream, const GemmArgs& args, const Epilogue& epilogue) override;
  void norm(Stream& stream, const NormArgs& args) override;
  void norm_backward(Stream& stream, const NormBackwardArgs& args) override;
  void activation(Stream& stream, ActivationKind kind, TensorView x, TensorView y) override;
  void activation_backward(Stream& stream, ActivationKind kind, TensorView x, TensorView dy,
                           TensorView dx) override;
  void attention(Stream& stream, const AttentionArgs& args) override;
  void attention_backward(Stream& stream, const AttentionBackwardArgs& args) override;
  void add(Stream& stream, TensorView a, TensorView b, TensorView bias, TensorView out) override;
  void column_sum(Stream& stream, TensorView x, TensorView out) override;
  void embedding(Stream& stream, TensorView ids, TensorView table, int64_t first_id, TensorView out) override;
  void embedding_backward(Stream& stream, TensorView ids, TensorView dout, int64_t first_id,
                          TensorView dtable) override;
  void add_positions(Stream& stream, TensorView x, TensorView table, const RowPositions& positions,
                     TensorView out) override;
  void add_positions_backward(Stream& stream, TensorView dout, const RowPositions& positions,
                              TensorView dtable) override;
  void rope(Stream& stream, const RopeArgs& args) override;
  void cross_entropy(Stream& stream, const CrossEntropyArgs& args) override;
  void fill(Stream& stream, TensorView x, double value) override;
  void copy(Stream& stream, TensorView from, TensorView to) override;
  void adamw(Stream& stream, const AdamWArgs& args) override;
  void sgd(Stream& stream, TensorView parameter, TensorView gradient, TensorView working, double lr,
           double gradient_scale) override;
  void sum_of_squares(Stream& stream, TensorView x, TensorView out) override;
  int64_t norm_backward_workspace_bytes(const NormBackwardArgs& args) override;
  int64_t attention_workspace_bytes(const AttentionArgs& args) override;
  int64_t attention_backward_workspace_bytes(const AttentionBackwardArgs& args) override;

 protected:
  virtual cudaStream_t handle(Stream& stream) = 0;
  /// c is not empty, the inner dim neither.
  virtual void product(cudaStream_t stream, const GemmArgs& args) = 0;
  /// The same with what follows it, in one pass; column sums replace what was there. False: there is no
  /// kernel for that, and nothing was queued.
  virtual bool product_with(cudaStream_t stream, const GemmArgs& args, const Epilogue& epilogue) = 0;
  /// Attention by a library. False: there is no kernel for that, or the own one is faster, and nothing was
  /// queued.
  virtual bool fused(cudaStream_t, const AttentionArgs&) { return false; }
  virtual bool fused(cudaStream_t, const AttentionBackwardArgs&) { return false; }
  /// The scratch memory, for work queued on `stream` until `give_back`.
  virtual Scratch take_scratch(cudaStream_t stream) = 0;
  virtual void give_back(cudaStream_t stream) = 0;

 private:
  bool in_one_pass(cudaStream_t queue, const GemmArgs& args, const Epilogue& epilogue);
};

}  // namespace galvatron::kernels::cuda
