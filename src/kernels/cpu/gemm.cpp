// Products by blocks. Block sizes are chosen so that turning operands into fp32 costs a few percent of the
// product: a block of b serves all rows of a, a block of a many columns of b, and a sum is rounded once, when
// its last part is in.

#include "kernels/cpu/gemm.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "kernels/cpu/convert.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/rows.hpp"

namespace galvatron::kernels {
namespace {

constexpr int64_t most_inner = 8192;    // of one block; more is summed in parts
constexpr int64_t most_of_a = 1 << 20;  // elements of a block of a, b and c
constexpr int64_t most_of_b = 1 << 22;
constexpr int64_t most_of_c = 1 << 21;
constexpr int64_t alignment = 64;

int64_t inner_of(const GemmArgs& args) {
  return args.transpose_a == Transpose::yes ? args.a.rows : args.a.cols;
}

/// The largest even share of n, in steps of 16, that is not above `most` (but at least 16).
int64_t even_part(int64_t n, int64_t most) {
  const auto parts = (n + std::max<int64_t>(most, 16) - 1) / std::max<int64_t>(most, 16);
  return std::min(n, ((n + parts - 1) / parts + 15) / 16 * 16);
}

TensorView part_of(const TensorView& view, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  auto part = view;
  part.rows = rows;
  part.cols = cols;
  if (part.data) part.data += (row * view.row_stride + col) * core::size_of(view.dtype);
  return part;
}

/// The part of an operand that lies transposed or not.
TensorView operand_part(const TensorView& view, Transpose transpose, int64_t row, int64_t rows, int64_t col,
                        int64_t cols) {
  return transpose == Transpose::yes ? part_of(view, col, cols, row, rows)
                                     : part_of(view, row, rows, col, cols);
}

/// An empty inner dim: c = bias or 0.
void store_bias(const Simd& simd, const GemmArgs& args) {
  by_element(args.a.dtype, [&]<class T>() {
    for (int64_t i = 0; i < args.c.rows; ++i) {
      const auto widened = args.c.dtype != args.a.dtype;
      if (!args.bias.present()) {
        std::fill_n(args.c.data + i * args.c.row_stride * core::size_of(args.c.dtype),
                    args.c.cols * core::size_of(args.c.dtype), std::byte{});
      } else if (widened) {
        loops_for<T>(simd).widen(args.bias.as<T>(), row<float>(args.c, i), args.c.cols);
      } else {
        std::copy_n(args.bias.as<T>(), args.c.cols, row<T>(args.c, i));
      }
    }
  });
}

}  // namespace

/// The blocks of one product and their places in its workspace: a, b, c where that is of 16 bits, bias, and
/// what oneDNN needs.
class Gemm::Blocks {
 public:
  explicit Blocks(const GemmArgs& args) : args_(args) {
    m_ = args.c.rows;
    n_ = args.c.cols;
    k_ = inner_of(args);
    block_k_ = even_part(k_, most_inner);
    block_n_ = even_part(n_, most_of_b / block_k_);
    block_m_ = even_part(m_, std::min(most_of_a / block_k_, most_of_c / block_n_));
    b_begin_ = round(block_m_ * block_k_);
    c_begin_ = b_begin_ + round(block_k_ * block_n_);
    bias_begin_ = c_begin_ + (args.c.dtype == core::DType::f32 ? 0 : round(block_m_ * block_n_));
    scratch_begin_ = bias_begin_ + (args.bias.present() ? round(block_n_) : 0);
  }

  /// Bytes before oneDNN's own workspace.
  int64_t bytes() const { return scratch_begin_; }

  struct Block {
    GemmArgs product;          ///< in fp32
    TensorView a, b, c, bias;  ///< the parts of the operands behind it
    bool first, last;          ///< of a sum
  };

  /// visit(block) for one block of each shape: blocks differ in size only at the ends, and the first part of
  /// a sum in what it does to c.
  template <class Visit>
  void each_shape(Visit visit) const {
    const auto last = [](int64_t extent, int64_t block) { return (extent - 1) / block * block; };
    for (const int64_t n : {int64_t{0}, last(n_, block_n_)})
      for (const int64_t m : {int64_t{0}, last(m_, block_m_)})
        for (const int64_t k : {int64_t{0}, std::min(block_k_, last(k_, block_k_)), last(k_, block_k_)})
          visit(block(m, n, k));
  }

  /// visit(block) for each block, in order.
  template <class Visit>
  void each(Visit visit) const {
    for (int64_t n = 0; n < n_; n += block_n_) {
      for (int64_t m = 0; m < m_; m += block_m_) {
        for (int64_t k = 0; k < k_; k += block_k_) visit(block(m, n, k));
      }
    }
  }

 private:
  static int64_t round(int64_t floats) { return (floats * 4 + alignment - 1) / alignment * alignment; }

  TensorView place(int64_t begin, const TensorView& like) const {
    auto* data = args_.workspace.data ? args_.workspace.data + begin : nullptr;
    return device::matrix(data, core::DType::f32, like.rows, like.cols);
  }

  Block block(int64_t m, int64_t n, int64_t k) const {
    const auto rows = std::min(block_m_, m_ - m);
    const auto cols = std::min(block_n_, n_ - n);
    const auto inner = std::min(block_k_, k_ - k);
    Block out{};
    out.first = k == 0;
    out.last = k + inner == k_;
    out.a = operand_part(args_.a, args_.transpose_a, m, rows, k, inner);
    out.b = operand_part(args_.b, args_.transpose_b, k, inner, n, cols);
    out.c = part_of(args_.c, m, rows, n, cols);
    if (args_.bias.present() && out.first) out.bias = part_of(args_.bias, 0, 1, n, cols);
    auto& product = out.product;
    product.transpose_a = args_.transpose_a;
    product.transpose_b = args_.transpose_b;
    product.a = place(0, out.a);
    product.b = place(b_begin_, out.b);
    product.c = out.c.dtype == core::DType::f32 ? out.c : place(c_begin_, out.c);
    if (out.bias.present()) product.bias = place(bias_begin_, out.bias);
    product.write = out.first ? args_.write : Write::accumulate;
    const auto scratch = args_.workspace.bytes() - scratch_begin_;
    if (args_.workspace.data && scratch > 0)
      product.workspace = device::vector(args_.workspace.data + scratch_begin_, core::DType::u8, scratch);
    return out;
  }

  const GemmArgs& args_;
  int64_t m_, n_, k_;
  int64_t block_m_, block_n_, block_k_;
  int64_t b_begin_, c_begin_, bias_begin_, scratch_begin_;
};

void Gemm::run(const GemmArgs& args) {
  if (args.c.elements() == 0) return;
  if (inner_of(args) == 0) {
    if (args.write == Write::overwrite) store_bias(simd_, args);
    return;
  }
  if (products_.takes(args.a.dtype)) return products_.run(args);
  const Blocks blocks(args);
  GALV_ASSERT(args.workspace.bytes() >= blocks.bytes(), args.workspace.bytes(), blocks.bytes());
  const std::byte* held_a = nullptr;
  const std::byte* held_b = nullptr;
  blocks.each([&](const auto& block) {
    if (block.a.data != held_a) convert(simd_, threads_, block.a, block.product.a);
    if (block.b.data != held_b) convert(simd_, threads_, block.b, block.product.b);
    held_a = block.a.data;
    held_b = block.b.data;
    if (block.bias.present()) convert(simd_, 1, block.bias, block.product.bias);
    products_.run(block.product);
    if (block.last && block.c.dtype != core::DType::f32) convert(simd_, threads_, block.product.c, block.c);
  });
}

int64_t Gemm::workspace_bytes(const GemmArgs& args) {
  if (args.c.elements() == 0 || inner_of(args) == 0) return 0;
  if (products_.takes(args.a.dtype)) return products_.workspace_bytes(args);
  const Blocks blocks(args);
  int64_t scratch = 0;
  blocks.each_shape(
      [&](const auto& block) { scratch = std::max(scratch, products_.workspace_bytes(block.product)); });
  return blocks.bytes() + scratch;
}

}  // namespace galvatron::kernels
