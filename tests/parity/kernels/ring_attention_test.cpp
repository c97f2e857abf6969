// Ring attention without a ring: a causal attention whose positions are cut into zigzag blocks, every block
// computing its diagonal part and merging one part per other block, is the attention of one block. So are its
// gradients, with dk and dv summed over the blocks that attended them.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "parity/kernels/attention_parts.hpp"

namespace galvatron::kernels::test {
namespace {

struct Dims {
  int64_t samples, positions, pieces, heads, kv_heads, head_dim;

  int64_t rows() const { return samples * positions; }
  int64_t row(int64_t sample, int64_t position) const {
    const auto piece = positions / pieces;
    return (position / piece * samples + sample) * piece + position % piece;
  }
};

/// One block's operands.
struct Block {
  TensorView q, k, v, out, lse, dout, dq, dk, dv;
};

constexpr TensorView Block::*inputs[] = {&Block::q, &Block::k, &Block::v, &Block::dout};
constexpr TensorView Block::*results[] = {&Block::out, &Block::lse, &Block::dq, &Block::dk, &Block::dv};
constexpr const char* result_names[] = {"out", "lse", "dq", "dk", "dv"};

/// `blocks` zigzag blocks: block i has the halves i and 2·blocks − 1 − i of all positions.
class ZigzagRing {
 public:
  ZigzagRing(Workbench& w, const Dims& block, int64_t blocks) : w_(w), dims_(block) {
    const auto sums = w.sums();
    for (int64_t i = 0; i < blocks; ++i) {
      const auto q_cols = block.heads * block.head_dim;
      const auto kv_cols = block.kv_heads * block.head_dim;
      const auto rows = block.rows();
      blocks_.push_back(
          {w.input(rows, q_cols), w.input(rows, kv_cols), w.input(rows, kv_cols),
           w.filled(sums, rows, q_cols, std::nan("")), w.filled(sums, rows, block.heads, std::nan("")),
           w.input(rows, q_cols), w.filled(sums, rows, q_cols, std::nan("")),
           w.filled(sums, rows, kv_cols, std::nan("")), w.filled(sums, rows, kv_cols, std::nan(""))});
    }
  }

  std::vector<Block>& blocks() { return blocks_; }

  /// visit(sample, position of all, block, row in the block).
  template <class Visit>
  void each_token(Visit visit) const {
    const auto count = static_cast<int64_t>(blocks_.size());
    const auto half = blocks_.size() == 1 ? dims_.positions : dims_.positions / 2;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < dims_.positions; ++c) {
        const auto position = c < half ? i * half + c : (2 * count - 1 - i) * half + c - half;
        for (int64_t s = 0; s < dims_.samples; ++s) {
          visit(s, position, blocks_[static_cast<size_t>(i)], dims_.row(s, c));
        }
      }
    }
  }

  void forward() {
    each_part([&](Block& mine, Block& theirs, AttentionPart part, Write write) {
      AttentionArgs args;
      set_attention_dims(args, dims_);
      args.q = mine.q;
      args.k = theirs.k;
      args.v = theirs.v;
      args.out = mine.out;
      args.lse = mine.lse;
      args.part = part;
      args.write = write;
      args.workspace = scratch(forward_scratch_, w_.kernels().attention_workspace_bytes(args));
      w_.kernels().attention(w_.stream(), args);
    });
  }

  void backward() {
    each_part([&](Block& mine, Block& theirs, AttentionPart part, Write write) {
      AttentionBackwardArgs args;
      set_attention_dims(args, dims_);
      args.q = mine.q;
      args.k = theirs.k;
      args.v = theirs.v;
      args.out = mine.out;
      args.lse = mine.lse;
      args.dout = mine.dout;
      args.dq = mine.dq;
      args.dk = theirs.dk;
      args.dv = theirs.dv;
      args.part = part;
      args.write_q = args.write_kv = write;
      args.workspace = scratch(backward_scratch_, w_.kernels().attention_backward_workspace_bytes(args));
      w_.kernels().attention_backward(w_.stream(), args);
    });
  }

 private:
  /// The steps of the ring: in step t block i attends the keys of block i − t.
  template <class Visit>
  void each_part(Visit visit) {
    const auto count = blocks_.size();
    for (size_t step = 0; step < count; ++step) {
      for (size_t i = 0; i < count; ++i) {
        const auto j = (i + count - step) % count;
        const auto part = j == i  ? AttentionPart::diagonal
                          : j < i ? AttentionPart::earlier
                                  : AttentionPart::later;
        const auto write = step == 0 ? Write::overwrite : Write::accumulate;
        visit(blocks_[i], blocks_[j], part, write);
      }
    }
  }

  TensorView scratch(TensorView& kept, int64_t bytes) {
    if (kept.bytes() < bytes) kept = w_.scratch(bytes);
    return kept;
  }

  Workbench& w_;
  Dims dims_;
  std::vector<Block> blocks_;
  TensorView forward_scratch_, backward_scratch_;
};

struct RingCase {
  DType dtype;
  int64_t blocks, pieces, positions;
};

class Zigzag : public testing::TestWithParam<RingCase> {};

Dims dims_of(const RingCase& c, int64_t blocks, int64_t pieces) {
  return {2, c.positions / blocks, pieces, 2, 1, 24};
}

/// Gives the tokens of the blocks what the whole has, row [sample][position].
void deal(const ZigzagRing& ring, const Block& whole, int64_t positions) {
  ring.each_token([&](int64_t s, int64_t p, const Block& block, int64_t row) {
    for (const auto input : inputs) {
      for (int64_t col = 0; col < (whole.*input).cols; ++col) {
        Workbench::set(block.*input, row, col, Workbench::get(whole.*input, s * positions + p, col));
      }
    }
  });
}

/// The attention of one block in fp64, on numbers that are exact in a type, computed once.
struct Oracle {
  Workbench bench;
  ZigzagRing ring;

  Oracle(const RingCase& c, DType exact)
      : bench(DeviceKind::cpu, DType::f64, 1, exact), ring(bench, dims_of(c, 1, 1), 1) {
    ring.forward();
    ring.backward();
  }
};

const Block& whole_of(const RingCase& c) {
  static std::map<std::pair<DType, int64_t>, std::unique_ptr<Oracle>> oracles;
  const auto exact = c.dtype == DType::f64 ? DType::f32 : c.dtype;
  auto& oracle = oracles[{exact, c.positions}];
  if (!oracle) oracle = std::make_unique<Oracle>(c, exact);
  return oracle->ring.blocks()[0];
}

TEST_P(Zigzag, BlocksMergedAreTheWhole) {
  const auto c = GetParam();
  const auto& whole = whole_of(c);
  Workbench w(DeviceKind::cpu, c.dtype, 2);
  ZigzagRing ring(w, dims_of(c, c.blocks, c.pieces), c.blocks);
  deal(ring, whole, c.positions);
  ring.forward();
  ring.backward();
  for (size_t r = 0; r < std::size(results); ++r) {
    double largest = 0;
    for (const auto value : w.values(whole.*results[r])) largest = std::max(largest, std::abs(value));
    const auto bound = c.dtype == DType::f64 ? 1e-12 : 2e-6 * largest;
    ring.each_token([&](int64_t s, int64_t p, const Block& block, int64_t row) {
      for (int64_t col = 0; col < (whole.*results[r]).cols; ++col) {
        ASSERT_NEAR(Workbench::get(block.*results[r], row, col),
                    Workbench::get(whole.*results[r], s * c.positions + p, col), bound)
            << result_names[r] << " of sample " << s << ", position " << p << ", column " << col;
      }
    });
  }
}

std::vector<RingCase> ring_cases() {
  std::vector<RingCase> cases;
  for (const auto& [dtype, positions] : {std::pair<DType, int64_t>{DType::f64, 72},
                                         {DType::f32, 72},
                                         {DType::f32, 432},
                                         {DType::bf16, 432},
                                         {DType::f16, 432}}) {
    for (const int64_t blocks : {1, 2, 3, 4}) {
      for (const int64_t pieces : {1, 2, 3}) cases.push_back({dtype, blocks, pieces, positions});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Blocks, Zigzag, testing::ValuesIn(ring_cases()), [](const auto& info) {
  return std::string(core::name(info.param.dtype)) + "_s" + std::to_string(info.param.positions) + "_cp" +
         std::to_string(info.param.blocks) + "_pieces" + std::to_string(info.param.pieces);
});

/// Σ dout · out over all blocks.
double loss(ZigzagRing& ring, const Workbench& w) {
  ring.forward();
  double sum = 0;
  for (const auto& block : ring.blocks()) {
    const auto out = w.values(block.out);
    const auto dout = w.values(block.dout);
    for (size_t i = 0; i < out.size(); ++i) sum += out[i] * dout[i];
  }
  return sum;
}

TEST(RingOfTwo, GradientsAreTheDifferencesOfTheForward) {
  constexpr double step = 1e-5;
  Workbench w(DeviceKind::cpu, DType::f64, 1);
  ZigzagRing ring(w, {2, 6, 3, 4, 2, 3}, 2);
  ring.forward();
  ring.backward();
  constexpr std::tuple<const char*, TensorView Block::*, TensorView Block::*> pairs[] = {
      {"q", &Block::q, &Block::dq}, {"k", &Block::k, &Block::dk}, {"v", &Block::v, &Block::dv}};
  for (size_t b = 0; b < 2; ++b) {
    for (const auto& [name, input, gradient] : pairs) {
      const auto& x = ring.blocks()[b].*input;
      for (int64_t i = 0; i < x.rows; ++i) {
        for (int64_t j = 0; j < x.cols; ++j) {
          const auto value = Workbench::get(x, i, j);
          Workbench::set(x, i, j, value + step);
          const auto above = loss(ring, w);
          Workbench::set(x, i, j, value - step);
          const auto below = loss(ring, w);
          Workbench::set(x, i, j, value);
          const auto expected = (above - below) / (2 * step);
          ASSERT_NEAR(Workbench::get(ring.blocks()[b].*gradient, i, j), expected,
                      1e-6 * (1.0 + std::abs(expected)))
              << name << "[" << i << ", " << j << "] of block " << b;
        }
      }
    }
  }
}

}  // namespace
}  // namespace galvatron::kernels::test
