#pragma once
// Products by cuBLASLt. What it chose for a shape is kept, so that a step asks it once.

#include <cublasLt.h>

#include <compare>
#include <map>
#include <memory>

#include "kernels/kernels.hpp"

namespace galvatron::kernels::cuda {

class Products {
 public:
  /// On the current device.
  Products();

  /// c is not empty, the inner dim neither. Falls back to gemm_by_tiles where cuBLASLt has nothing.
  void run(cudaStream_t stream, const GemmArgs& args);

  /// Room for sixteen partial sums of c, at most 32 MiB. The same for a product with or without data.
  static int64_t workspace_bytes(const GemmArgs& args);

 private:
  /// Everything that the choice of an algorithm depends on. Alignments are those of the addresses, in bytes.
  struct Key {
    int64_t m, n, k, stride_a, stride_b, stride_c;
    core::DType type, type_c;
    Transpose transpose_a, transpose_b;
    Write write;
    uint32_t align_a, align_b, align_c, align_bias;  ///< the last is 0 without bias
    auto operator<=>(const Key&) const = default;
  };
  struct Destroy {
    void operator()(cublasLtHandle_t handle) const { cublasLtDestroy(handle); }
    void operator()(cublasLtMatmulDesc_t descriptor) const { cublasLtMatmulDescDestroy(descriptor); }
    void operator()(cublasLtMatrixLayout_t layout) const { cublasLtMatrixLayoutDestroy(layout); }
    void operator()(cublasLtMatmulPreference_t preference) const {
      cublasLtMatmulPreferenceDestroy(preference);
    }
  };
  template <class Opaque>
  using Owned = std::unique_ptr<std::remove_pointer_t<Opaque>, Destroy>;

  struct Choice {
    Owned<cublasLtMatmulDesc_t> product;
    Owned<cublasLtMatrixLayout_t> a, b, c;
    cublasLtMatmulAlgo_t algorithm{};
    bool found = false;
  };

  static Key key_of(const GemmArgs& args);
  static Owned<cublasLtMatrixLayout_t> layout_of(const TensorView& view);
  Choice choose(const Key& key, const GemmArgs& args) const;

  Owned<cublasLtHandle_t> handle_;
  std::map<Key, Choice> choices_;
};

}  // namespace galvatron::kernels::cuda
