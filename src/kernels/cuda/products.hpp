#pragma once
// Products by cuBLASLt. What was chosen for a product is kept, so that a step asks once. Which product a call
// is, is decided in product.cpp; which of the library's algorithms makes it, by AlgorithmChooser.

#include <cublasLt.h>

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/algorithm_chooser.hpp"
#include "kernels/cuda/product.hpp"

namespace galvatron::kernels::cuda {

class Products {
 public:
  /// On the current device, which is of the kind `device`.
  explicit Products(const std::string& device);

  /// c is not empty, the inner dim neither. Falls back to gemm_by_tiles where cuBLASLt has nothing.
  void run(cudaStream_t stream, const GemmArgs& args);

  /// The same with what follows it in one pass. False: cuBLASLt has nothing for it, and nothing was queued.
  bool run_with(cudaStream_t stream, const GemmArgs& args, const Epilogue& epilogue);

  /// The same for a product with or without data.
  static int64_t workspace_bytes(const GemmArgs& args);

  /// Where it measures, the first call of a product runs several times: a sum then adds more than once.
  AlgorithmChooser& chooser() { return chooser_; }

 private:
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
    Owned<cublasLtMatrixLayout_t> a, b, out;
    cublasLtMatmulAlgo_t algorithm{};
    bool found = false;
  };

  static Owned<cublasLtMatmulDesc_t> descriptor_of(const ProductKey& key);
  static Owned<cublasLtMatrixLayout_t> layout_of(const TensorView& view);
  static Owned<cublasLtMatmulPreference_t> preference_of(const ProductKey& key);
  Choice choose(cudaStream_t stream, const Product& product);
  Choice& choice_of(cudaStream_t stream, const Product& product);
  std::vector<std::string> candidates_for(const Choice& choice, const ProductKey& key, int64_t wanted) const;
  bool can_run(const Choice& choice, const ProductKey& key, const AlgorithmBytes& algorithm) const;
  double seconds_of(cudaStream_t stream, const Product& product, const Choice& choice) const;
  cublasStatus_t launch(cudaStream_t stream, const Product& product, const Choice& choice) const;

  Owned<cublasLtHandle_t> handle_;
  AlgorithmChooser chooser_;
  std::map<ProductKey, Choice> choices_;
};

}  // namespace galvatron::kernels::cuda
