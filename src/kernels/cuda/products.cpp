// cuBLASLt speaks of columns where this program speaks of rows: a matrix of rows is the transposed one of
// columns at the same place. So cᵀ = op(b)ᵀ · op(a)ᵀ is asked for, with b as its first operand, and a bias
// per column of c is one per row of cᵀ, as its epilogue wants it. fp32 stays fp32 (no TF32), and parts of a
// sum are only ever added in fp32.

#include "kernels/cuda/products.hpp"

#include <algorithm>
#include <source_location>
#include <string>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "kernels/cuda/steps.hpp"

namespace galvatron::kernels::cuda {
namespace {

constexpr int64_t most_workspace = 32 << 20;
constexpr int64_t least_workspace = 64 << 10;
constexpr int64_t alignment = 256;  // of the workspace, and what an address needs at most

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

uint32_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data) | alignment;
  return static_cast<uint32_t>(address & ~(address - 1));  // the lowest bit
}

/// A single row's stride is never used, but must not be less than its length.
int64_t stride_of(const TensorView& view) {
  return view.rows > 1 ? view.row_stride : std::max(view.row_stride, view.cols);
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

}  // namespace

Products::Products() {
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle), "cublasLtCreate");
  handle_.reset(handle);
}

int64_t Products::workspace_bytes(const GemmArgs& args) {
  const auto inner = args.transpose_a == Transpose::yes ? args.a.rows : args.a.cols;
  if (args.c.elements() == 0 || inner == 0) return 0;
  const auto partial_sums = 16 * args.c.elements() * static_cast<int64_t>(sizeof(float));
  return std::clamp(partial_sums, least_workspace, most_workspace) + alignment;
}

Products::Key Products::key_of(const GemmArgs& args) {
  Key key{};
  key.m = args.c.rows;
  key.n = args.c.cols;
  key.k = args.transpose_a == Transpose::yes ? args.a.rows : args.a.cols;
  key.stride_a = stride_of(args.a);
  key.stride_b = stride_of(args.b);
  key.stride_c = stride_of(args.c);
  key.type = args.a.dtype;
  key.type_c = args.c.dtype;
  key.transpose_a = args.transpose_a;
  key.transpose_b = args.transpose_b;
  key.write = args.write;
  key.align_a = alignment_of(args.a.data);
  key.align_b = alignment_of(args.b.data);
  key.align_c = alignment_of(args.c.data);
  key.align_bias = args.bias.present() ? alignment_of(args.bias.data) : 0;
  return key;
}

Products::Owned<cublasLtMatrixLayout_t> Products::layout_of(const TensorView& view) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, type_of(view.dtype), static_cast<uint64_t>(view.cols),
                                   static_cast<uint64_t>(view.rows), stride_of(view)),
        "cublasLtMatrixLayoutCreate");
  return Owned<cublasLtMatrixLayout_t>(layout);
}

Products::Choice Products::choose(const Key& key, const GemmArgs& args) const {
  Choice choice;
  cublasLtMatmulDesc_t product = nullptr;
  check(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
  choice.product.reset(product);
  set(product, CUBLASLT_MATMUL_DESC_TRANSA, operation_of(key.transpose_b));
  set(product, CUBLASLT_MATMUL_DESC_TRANSB, operation_of(key.transpose_a));
  if (args.bias.present()) {
    set(product, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(args.bias.data));
  }
  choice.a = layout_of(args.a);
  choice.b = layout_of(args.b);
  choice.c = layout_of(args.c);
  cublasLtMatmulPreference_t made = nullptr;
  check(cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
  const Owned<cublasLtMatmulPreference_t> preference(made);
  set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
      static_cast<uint64_t>(workspace_bytes(args) - alignment));
  set(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.align_b);
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.align_a);
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.align_c);
  // A bias has no attribute of its own; the epilogue must not load more at once than both allow.
  const auto align_d = key.align_bias > 0 ? std::min(key.align_c, key.align_bias) : key.align_c;
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, align_d);
  cublasLtMatmulHeuristicResult_t result{};
  int count = 0;
  const auto status =
      cublasLtMatmulAlgoGetHeuristic(handle_.get(), product, choice.b.get(), choice.a.get(), choice.c.get(),
                                     choice.c.get(), made, 1, &result, &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return choice;
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  choice.found = count > 0 && result.state == CUBLAS_STATUS_SUCCESS;
  choice.algorithm = result.algo;
  return choice;
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
  const auto key = key_of(args);
  auto found = choices_.find(key);
  if (found == choices_.end()) found = choices_.emplace(key, choose(key, args)).first;
  const auto& choice = found->second;
  if (!choice.found) return gemm_by_tiles(stream, args);
  if (args.bias.present()) {
    set(choice.product.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(args.bias.data));
  }
  const auto begin = reinterpret_cast<uintptr_t>(args.workspace.data);
  const auto aligned = (begin + alignment - 1) / alignment * alignment;
  const auto room = workspace_bytes(args) - alignment;
  const float one = 1.0F;
  const float kept = args.write == Write::accumulate ? 1.0F : 0.0F;
  check(
      cublasLtMatmul(handle_.get(), choice.product.get(), &one, args.b.data, choice.b.get(), args.a.data,
                     choice.a.get(), &kept, args.c.data, choice.c.get(), args.c.data, choice.c.get(),
                     &choice.algorithm, reinterpret_cast<void*>(aligned), static_cast<size_t>(room), stream),
      "cublasLtMatmul");
}

}  // namespace galvatron::kernels::cuda
