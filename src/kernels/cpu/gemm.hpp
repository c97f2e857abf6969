#pragma once
// Matrix products on elements of fp32, bf16 and fp16. What oneDNN multiplies well on this processor goes to
// it as it is; operands of 16 bits that it does not are made fp32 block by block in the workspace, so that
// the fp32 product does the work and memory stays bounded.

#include "kernels/cpu/onednn.hpp"
#include "kernels/cpu/simd/simd.hpp"
#include "kernels/kernels.hpp"

namespace galvatron::kernels {

class Gemm {
 public:
  Gemm(int threads, const Simd& simd) : threads_(threads), simd_(simd), products_(threads) {}

  /// Shapes have been checked. Throws core::InternalError with oneDNN's own message.
  void run(const GemmArgs& args);
  /// Makes all primitives that `run` will need, so that `run` allocates nothing.
  int64_t workspace_bytes(const GemmArgs& args);

 private:
  class Blocks;

  int threads_;
  const Simd& simd_;
  OneDnnGemm products_;
};

}  // namespace galvatron::kernels
