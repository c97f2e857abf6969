#pragma once
// Which product a call is, in the terms of cuBLASLt but without it: its epilogue, and all that the choice of
// an algorithm depends on. Pure, so that decisions are tested where no device is.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/kernels.hpp"

namespace galvatron::kernels::cuda {

/// After the sum: bias; bias or not, then gelu with what it was taken of kept aside; the sum times gelu's
/// slope; the sums of the columns of a, as it
/// lies in memory, beside it.
enum class ProductEpilogue : uint8_t { none, bias, gelu, bias_gelu, gelu_backward, column_sum };

/// Two calls with equal keys may use the same algorithm. Strides are elements, 0 of what is absent;
/// alignments are bytes of the addresses, at most most_alignment, 0 of what is absent.
struct ProductKey {
  int64_t m = 0, n = 0, k = 0;
  int64_t stride_a = 0, stride_b = 0, stride_out = 0, stride_aside = 0;
  core::DType type = core::DType::f32, type_out = core::DType::f32;
  Transpose transpose_a = Transpose::no, transpose_b = Transpose::no;
  Write write = Write::overwrite;
  ProductEpilogue epilogue = ProductEpilogue::none;
  uint32_t align_a = 0, align_b = 0, align_out = 0, align_aside = 0, align_vector = 0;
  auto operator<=>(const ProductKey&) const = default;
};

/// Buffers of a plan begin at multiples of this, so a step has one key wherever its memory is.
inline constexpr uint32_t most_alignment = 64;

/// One call. `aside`: what gelu was taken of, written or read. `vector`: the bias, or the row sum.
struct Product {
  ProductKey key;
  TensorView a, b, out, aside, vector, workspace;
};

/// A single row's stride is never used, but must not be less than its length.
int64_t stride_of(const TensorView& view);

/// c is not empty, the inner dim neither; a bias has the type of c.
Product product_of(const GemmArgs& args);

/// The two steps as one product; nothing where the library's rules or the operands' places do not allow it:
/// gelu's other matrix needs rows at multiples of 16 bytes whose stride is a multiple of 8 elements, the bias
/// the type of the result, and nothing that is written may share memory with anything else. The column sums
/// go to the vector, where the epilogue's are added.
std::optional<Product> product_of(const GemmArgs& args, const Epilogue& epilogue);

/// Memory that algorithms may ask for: room for sixteen partial sums of the result, at most 32 MiB; 0 of a
/// product that is empty. The same with or without data.
int64_t product_workspace_bytes(const ProductKey& key);

/// The key in one line: by this an algorithm is found in a profile.
std::string text_of(const ProductKey& key);

}  // namespace galvatron::kernels::cuda
