// cuBLASLt speaks of columns where this program speaks of rows: a matrix of rows is the transposed one of
// columns at the same place. So cᵀ = op(b)ᵀ · op(a)ᵀ is asked for, with b as its first operand, and a bias
// per column of c is one per row of cᵀ, as its epilogue wants it; what it calls B's bias gradient is the
// column sums of a. fp32 stays fp32 (no TF32), and parts of a sum are only ever added in fp32. Its GELU is
// the tanh form, as that of formulas.cuh.

#include "kernels/cuda/products.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <source_location>
#include <string>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "kernels/cuda/steps.hpp"
#include "kernels/cuda/stopwatch.hpp"

namespace galvatron::kernels::cuda {
namespace {

constexpr int64_t workspace_alignment = 256;

void check(cublasStatus_t status, const std::string& call,
           const std::source_location& where = std::source_location::current()) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const auto text = core::format("{} failed: {}", call, cublasLtGetStatusString(status));
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw core::ResourceError(text);
  throw core::InternalError(text, where);
}

cudaDataType_t type_of(core::DType type) {
  switch (type) {
    case core::DType::f32:
      return CUDA_R_32F;
    case core::DType::bf16:
      return CUDA_R_16BF;
    case core::DType::f16:
      return CUDA_R_16F;
    default:
      throw core::InternalError("kernels: CUDA multiplies fp32, bf16 and fp16 only");
  }
}

template <class Value>
void set(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check(cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof(value)),
        "cublasLtMatmulDescSetAttribute");
}

template <class Value>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const Value& value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)),
        "cublasLtMatmulPreferenceSetAttribute");
}

cublasOperation_t operation_of(Transpose transpose) {
  return transpose == Transpose::yes ? CUBLAS_OP_T : CUBLAS_OP_N;
}

cublasLtEpilogue_t epilogue_of(ProductEpilogue epilogue) {
  switch (epilogue) {
    case ProductEpilogue::none:
      return CUBLASLT_EPILOGUE_DEFAULT;
    case ProductEpilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case ProductEpilogue::gelu:
      return CUBLASLT_EPILOGUE_GELU_AUX;
    case ProductEpilogue::bias_gelu:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case ProductEpilogue::gelu_backward:
      return CUBLASLT_EPILOGUE_DGELU;
    case ProductEpilogue::column_sum:
      return CUBLASLT_EPILOGUE_BGRADB;
  }
  throw core::InternalError("kernels: an epilogue without a name");
}

/// Of a call, not of a choice: where the epilogue's other operands are.
void set_places(cublasLtMatmulDesc_t descriptor, const Product& product) {
  if (product.vector.present())
    set(descriptor, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(product.vector.data));
  if (product.aside.present())
    set(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(product.aside.data));
}

}  // namespace

Products::Products(const std::string& device)
    : chooser_(core::format("cuBLASLt {}", cublasLtGetVersion()), device) {
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle), "cublasLtCreate");
  handle_.reset(handle);
}

int64_t Products::workspace_bytes(const GemmArgs& args) {
  const auto bytes = product_workspace_bytes(product_of(args).key);
  return bytes == 0 ? 0 : bytes + workspace_alignment;
}

Products::Owned<cublasLtMatmulDesc_t> Products::descriptor_of(const ProductKey& key) {
  cublasLtMatmulDesc_t made = nullptr;
  check(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
  Owned<cublasLtMatmulDesc_t> descriptor(made);
  set(made, CUBLASLT_MATMUL_DESC_TRANSA, operation_of(key.transpose_b));
  set(made, CUBLASLT_MATMUL_DESC_TRANSB, operation_of(key.transpose_a));
  set(made, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(key.epilogue));
  if (key.stride_aside > 0) set(made, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, key.stride_aside);
  return descriptor;
}

Products::Owned<cublasLtMatrixLayout_t> Products::layout_of(const TensorView& view) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, type_of(view.dtype), static_cast<uint64_t>(view.cols),
                                   static_cast<uint64_t>(view.rows), stride_of(view)),
        "cublasLtMatrixLayoutCreate");
  return Owned<cublasLtMatrixLayout_t>(layout);
}

Products::Owned<cublasLtMatmulPreference_t> Products::preference_of(const ProductKey& key) {
  cublasLtMatmulPreference_t made = nullptr;
  check(cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
  Owned<cublasLtMatmulPreference_t> preference(made);
  set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(product_workspace_bytes(key)));
  set(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.align_b);
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.align_a);
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.align_out);
  // An epilogue's operands have no attribute of their own; it must not load more at once than all allow.
  auto align_d = key.align_out;
  for (const auto other : {key.align_aside, key.align_vector})
    if (other > 0) align_d = std::min(align_d, other);
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, align_d);
  return preference;
}

std::vector<std::string> Products::candidates_for(const Choice& choice, const ProductKey& key,
                                                  int64_t wanted) const {
  const auto preference = preference_of(key);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<size_t>(wanted));
  int count = 0;
  const auto status = cublasLtMatmulAlgoGetHeuristic(
      handle_.get(), choice.product.get(), choice.b.get(), choice.a.get(), choice.out.get(), choice.out.get(),
      preference.get(), static_cast<int>(wanted), results.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return {};
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  std::vector<std::string> candidates;
  for (int i = 0; i < count; ++i)
    if (const auto& result = results[static_cast<size_t>(i)]; result.state == CUBLAS_STATUS_SUCCESS)
      candidates.push_back(hex_of(std::bit_cast<AlgorithmBytes>(result.algo)));
  return candidates;
}

bool Products::can_run(const Choice& choice, const ProductKey& key, const AlgorithmBytes& algorithm) const {
  const auto algo = std::bit_cast<cublasLtMatmulAlgo_t>(algorithm);
  cublasLtMatmulHeuristicResult_t result{};
  const auto status =
      cublasLtMatmulAlgoCheck(handle_.get(), choice.product.get(), choice.b.get(), choice.a.get(),
                              choice.out.get(), choice.out.get(), &algo, &result);
  return status == CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= static_cast<size_t>(product_workspace_bytes(key));
}

double Products::seconds_of(cudaStream_t stream, const Product& product, const Choice& choice) const {
  if (launch(stream, product, choice) != CUBLAS_STATUS_SUCCESS)
    return std::numeric_limits<double>::infinity();
  return seconds_on(stream, [&] { check(launch(stream, product, choice), "cublasLtMatmul"); });
}

Products::Choice Products::choose(cudaStream_t stream, const Product& product) {
  const auto& key = product.key;
  Choice choice;
  choice.product = descriptor_of(key);
  set_places(choice.product.get(), product);
  choice.a = layout_of(product.a);
  choice.b = layout_of(product.b);
  choice.out = layout_of(product.out);
  const auto take = [&](const AlgorithmBytes& algorithm) {
    choice.algorithm = std::bit_cast<cublasLtMatmulAlgo_t>(algorithm);
    choice.found = true;
  };
  const auto name = text_of(key);
  const auto kept = chooser_.kept(name);
  if (const auto algorithm = algorithm_of(kept.value_or("")); algorithm && can_run(choice, key, *algorithm)) {
    take(*algorithm);
    return choice;
  }
  const auto candidates = candidates_for(choice, key, chooser_.wanted());
  if (candidates.empty()) return choice;
  const auto take_candidate = [&](size_t i) { take(*algorithm_of(candidates[i])); };
  take_candidate(chooser_.choose(name, candidates, [&](size_t i) {
    take_candidate(i);
    return seconds_of(stream, product, choice);
  }));
  return choice;
}

Products::Choice& Products::choice_of(cudaStream_t stream, const Product& product) {
  auto found = choices_.find(product.key);
  if (found == choices_.end()) found = choices_.emplace(product.key, choose(stream, product)).first;
  return found->second;
}

cublasStatus_t Products::launch(cudaStream_t stream, const Product& product, const Choice& choice) const {
  set_places(choice.product.get(), product);
  const auto begin = reinterpret_cast<uintptr_t>(product.workspace.data);
  const auto aligned = (begin + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
  const float one = 1.0F;
  const float kept = product.key.write == Write::accumulate ? 1.0F : 0.0F;
  return cublasLtMatmul(handle_.get(), choice.product.get(), &one, product.b.data, choice.b.get(),
                        product.a.data, choice.a.get(), &kept, product.out.data, choice.out.get(),
                        product.out.data, choice.out.get(), &choice.algorithm,
                        reinterpret_cast<void*>(aligned),
                        static_cast<size_t>(product_workspace_bytes(product.key)), stream);
}

void Products::run(cudaStream_t stream, const GemmArgs& args) {
  if (args.bias.present() && args.c.dtype != args.bias.dtype) {
    // The epilogue's bias has the type of c: so the sum starts with it instead.
    repeat_row(stream, args.bias, args.c);
    auto sum = args;
    sum.bias = {};
    sum.write = Write::accumulate;
    return run(stream, sum);
  }
  const auto product = product_of(args);
  const auto& choice = choice_of(stream, product);
  if (!choice.found) return gemm_by_tiles(stream, args);
  check(launch(stream, product, choice), "cublasLtMatmul");
}

bool Products::run_with(cudaStream_t stream, const GemmArgs& args, const Epilogue& epilogue) {
  const auto product = product_of(args, epilogue);
  if (!product) return false;
  auto& choice = choice_of(stream, *product);
  if (!choice.found) return false;
  // The heuristic does not know whether the result is added to.
  const auto status = launch(stream, *product, choice);
  choice.found = status != CUBLAS_STATUS_NOT_SUPPORTED;
  if (choice.found) check(status, "cublasLtMatmul");
  return choice.found;
}

}  // namespace galvatron::kernels::cuda
