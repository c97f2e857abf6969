// The rules are those of the cuBLASLt documentation: CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD a multiple of 8,
// vectors of bias of the type of the result, and one result, written once.

#include "kernels/cuda/product.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/format.hpp"

namespace galvatron::kernels::cuda {
namespace {

uint32_t alignment_of(const TensorView& view) {
  if (!view.present()) return 0;
  const auto address = reinterpret_cast<uintptr_t>(view.data) | most_alignment;
  return static_cast<uint32_t>(address & ~(address - 1));  // the lowest bit
}

int64_t stride_if_present(const TensorView& view) {
  return view.present() ? stride_of(view) : 0;
}

/// From the first byte of a view to behind its last.
bool share_memory(const TensorView& one, const TensorView& other) {
  if (!one.present() || !other.present()) return false;
  const auto end = [](const TensorView& view) {
    return view.data + ((view.rows - 1) * view.row_stride + view.cols) * core::size_of(view.dtype);
  };
  return one.data < end(other) && other.data < end(one);
}

/// Nothing that is written shares memory with anything else.
bool apart(const Product& product, bool writes_aside, bool writes_vector) {
  const std::array views = {&product.out, &product.aside, &product.vector,
                            &product.a,   &product.b,     &product.workspace};
  const std::array written = {true, writes_aside, writes_vector, false, false, true};
  for (size_t i = 0; i < views.size(); ++i)
    for (size_t j = 0; j < views.size(); ++j)
      if (i != j && written[i] && share_memory(*views[i], *views[j])) return false;
  return true;
}

bool may_lie_aside(const TensorView& view) {
  return stride_of(view) % 8 == 0 && alignment_of(view) >= 16;
}

void complete(Product& product, const GemmArgs& args, ProductEpilogue epilogue) {
  auto& key = product.key;
  product.a = args.a;
  product.b = args.b;
  product.workspace = args.workspace;
  key.m = args.c.rows;
  key.n = args.c.cols;
  key.k = args.transpose_a == Transpose::yes ? args.a.rows : args.a.cols;
  key.stride_a = stride_of(args.a);
  key.stride_b = stride_of(args.b);
  key.stride_out = stride_of(product.out);
  key.stride_aside = stride_if_present(product.aside);
  key.type = args.a.dtype;
  key.type_out = product.out.dtype;
  key.transpose_a = args.transpose_a;
  key.transpose_b = args.transpose_b;
  key.write = args.write;
  key.epilogue = epilogue;
  key.align_a = alignment_of(args.a);
  key.align_b = alignment_of(args.b);
  key.align_out = alignment_of(product.out);
  key.align_aside = alignment_of(product.aside);
  key.align_vector = alignment_of(product.vector);
}

std::string_view name_of(ProductEpilogue epilogue) {
  static constexpr std::string_view names[] = {"none",      "bias",          "gelu",
                                               "bias_gelu", "gelu_backward", "column_sum"};
  return names[static_cast<size_t>(epilogue)];
}

char letter_of(Transpose transpose) {
  return transpose == Transpose::yes ? 't' : 'n';
}

}  // namespace

int64_t stride_of(const TensorView& view) {
  return view.rows > 1 ? view.row_stride : std::max(view.row_stride, view.cols);
}

Product product_of(const GemmArgs& args) {
  Product product;
  product.out = args.c;
  product.vector = args.bias;
  complete(product, args, args.bias.present() ? ProductEpilogue::bias : ProductEpilogue::none);
  return product;
}

std::optional<Product> product_of(const GemmArgs& args, const Epilogue& epilogue) {
  Product product;
  product.vector = args.bias;
  const bool has_bias = args.bias.present();
  const bool overwrites = args.write == Write::overwrite;
  bool allowed = false, writes_aside = false, writes_vector = false;
  auto kind = ProductEpilogue::none;
  switch (epilogue.kind) {
    case core::EpilogueKind::gelu:
      kind = has_bias ? ProductEpilogue::bias_gelu : ProductEpilogue::gelu;
      product.out = epilogue.out;
      product.aside = args.c;
      writes_aside = true;
      allowed = overwrites && may_lie_aside(args.c) && (!has_bias || args.bias.dtype == args.c.dtype);
      break;
    case core::EpilogueKind::gelu_backward:
      kind = ProductEpilogue::gelu_backward;
      product.out = epilogue.out;
      product.aside = epilogue.x;
      allowed = overwrites && may_lie_aside(epilogue.x) && !has_bias;
      break;
    case core::EpilogueKind::column_sum:
      kind = ProductEpilogue::column_sum;
      product.out = args.c;
      product.vector = epilogue.out;
      writes_vector = true;
      allowed = args.transpose_a == Transpose::yes && !has_bias && epilogue.out.dtype == args.c.dtype;
      break;
  }
  complete(product, args, kind);
  if (!allowed || !apart(product, writes_aside, writes_vector)) return std::nullopt;
  return product;
}

int64_t product_workspace_bytes(const ProductKey& key) {
  constexpr int64_t least = 64 << 10, most = 32 << 20;
  if (key.m * key.n == 0 || key.k == 0) return 0;
  return std::clamp(16 * key.m * key.n * static_cast<int64_t>(sizeof(float)), least, most);
}

std::string text_of(const ProductKey& key) {
  return core::format("{}{} {}>{} {}x{}x{} strides {} {} {} {} {} {} aligned {} {} {} {} {}",
                      letter_of(key.transpose_a), letter_of(key.transpose_b), core::name(key.type),
                      core::name(key.type_out), key.m, key.n, key.k, key.stride_a, key.stride_b,
                      key.stride_out, key.stride_aside,
                      key.write == Write::accumulate ? "accumulate" : "overwrite", name_of(key.epilogue),
                      key.align_a, key.align_b, key.align_out, key.align_aside, key.align_vector);
}

}  // namespace galvatron::kernels::cuda
