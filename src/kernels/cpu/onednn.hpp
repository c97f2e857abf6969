#pragma once
// The matrix product of oneDNN behind plain numbers. Everything that differs between oneDNN 2 and 3
// stays in the .cpp.

#include <cstdint>
#include <memory>

#include "kernels/kernels.hpp"

namespace galvatron::kernels {

/// Makes one primitive per (shape, strides, types, transposes, bias, write) and keeps it: making one costs
/// more than a small product.
class OneDnnGemm {
 public:
  explicit OneDnnGemm(int threads);
  ~OneDnnGemm();

  /// This processor multiplies elements of this type at full speed: fp32 always, bf16 with instructions for
  /// it.
  bool takes(core::DType type) const;

  /// Shapes have been checked. Throws core::InternalError with oneDNN's own message.
  void run(const GemmArgs& args);
  int64_t workspace_bytes(const GemmArgs& args);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace galvatron::kernels
