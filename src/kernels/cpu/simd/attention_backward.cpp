// The backward of attention, one block of keys at a time: scores of a block of queries are computed again
// from q, k and the log-sum-exp (Dao et al., arXiv 2205.14135).

#include "kernels/cpu/simd/attention_blocks.hpp"
#include "kernels/cpu/simd/families.hpp"

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {
namespace {

/// The packed blocks of one step of the backward.
struct BackwardBlocks {
  float *q, *dout, *k, *keys, *values, *dq, *dk, *dv;  ///< keys and values by dim
  float *weights, *slopes;                             ///< queries × keys
};

BackwardBlocks blocks_in(float* scratch, int64_t width) {
  const auto part = block * width;
  return {scratch,
          scratch + part,
          scratch + 2 * part,
          scratch + 3 * part,
          scratch + 4 * part,
          scratch + 5 * part,
          scratch + 6 * part,
          scratch + 7 * part,
          scratch + 8 * part,
          scratch + 8 * part + block * block};
}

/// Scores become weights and the gradient at the weights becomes that at the scores, row by row.
void slope_rows(const AttentionBackwardBlock& b, const BackwardBlocks& s, int64_t head,
                const Positions& queries, int64_t keys, bool diagonal) {
  RowWalk rows(b.tokens, queries.first);
  for (int64_t i = 0; i < queries.count; ++i) {
    const auto row = rows.next();
    const float lse = b.lse[row * b.lse_stride + head];
    const float delta = b.delta[row * b.delta_stride + head];
    float* weights = s.weights + i * block;
    float* slopes = s.slopes + i * block;
    const auto seen = diagonal ? i + 1 : keys;
    for (int64_t j = 0; j < seen; j += lanes) {
      const auto weight = exponential(load(weights + j) - lse);
      store(weights + j, weight);
      store(slopes + j, weight * (load(slopes + j) - delta));
    }
    for (int64_t j = seen; j < keys; ++j) weights[j] = slopes[j] = 0.0F;
  }
}

/// All that one block of queries of one head adds to dk, dv and dq.
void backward_queries(const AttentionBackwardBlock& b, const BackwardBlocks& s, int64_t head,
                      const Positions& queries, int64_t keys) {
  const auto head_dim = b.tokens.head_dim;
  const auto width = padded(head_dim);
  const auto diagonal = b.causal && queries.first == b.first;
  const auto wanted = diagonal ? Skip::above : Skip::nothing;
  const auto transposed = diagonal ? Skip::inner_below : Skip::nothing;
  pack_rows(queries, columns(b.q, head * head_dim), b.scale, s.q);
  pack_rows(queries, columns(b.dout, head * head_dim), 1.0F, s.dout);
  multiply(queries.count, padded(keys), head_dim, {s.q, width, 1}, {s.keys, block}, s.weights, block,
           Store::overwrite, wanted);
  multiply(queries.count, padded(keys), head_dim, {s.dout, width, 1}, {s.values, block}, s.slopes, block,
           Store::overwrite, wanted);
  slope_rows(b, s, head, queries, keys, diagonal);
  multiply(keys, width, queries.count, {s.weights, 1, block}, {s.dout, width}, s.dv, width, Store::accumulate,
           transposed);
  multiply(keys, width, queries.count, {s.slopes, 1, block}, {s.q, width}, s.dk, width, Store::accumulate,
           transposed);
  multiply(queries.count, width, keys, {s.slopes, block, 1}, {s.k, width}, s.dq, width, Store::overwrite,
           diagonal ? Skip::inner_above : Skip::nothing);
  unpack_rows(queries, s.dq, b.scale, Store::accumulate, {b.dq + head * head_dim, b.dq_stride, Element::f32});
}

void attention_backward(const AttentionBackwardBlock& b) {
  const auto width = padded(b.tokens.head_dim);
  const auto s = blocks_in(b.scratch, width);
  const Positions keys{&b.tokens, b.first, least(block, b.key_end - b.first)};
  pack_rows(keys, b.k, 1.0F, s.k);
  pack_columns(keys, b.k, 1.0F, s.keys);
  pack_columns(keys, b.v, 1.0F, s.values);
  for (int64_t i = 0; i < block * width; ++i) s.dk[i] = s.dv[i] = 0.0F;
  for (int64_t head = 0; head < b.group; ++head) {
    for (int64_t first = b.causal ? b.first : b.query_begin; first < b.query_end; first += block) {
      backward_queries(b, s, head, {&b.tokens, first, least(block, b.query_end - first)}, keys.count);
    }
  }
  const auto mode = b.accumulate ? Store::accumulate : Store::overwrite;
  unpack_rows(keys, s.dk, 1.0F, mode, b.dk);
  unpack_rows(keys, s.dv, 1.0F, mode, b.dv);
}

void attention_deltas(const AttentionDeltas& d) {
  with_element(d.dout.element, d.dout.data, [&](const auto* douts) {
    with_element(d.out.element, d.out.data, [&](const auto* outs) {
      for (int64_t i = d.begin; i < d.end; ++i) {
        for (int64_t h = 0; h < d.heads; ++h) {
          const auto* dout = douts + i * d.dout.stride + h * d.head_dim;
          const auto* out = outs + i * d.out.stride + h * d.head_dim;
          float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
          for (int64_t c = 0; c < d.head_dim; ++c) sum += widen(dout[c]) * widen(out[c]);
          d.deltas[i * d.heads + h] = sum;
        }
      }
    });
  });
}

void store_row(const float* from, int64_t n, Element element, void* to) {
  with_element(element, to, [&](auto* target) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) narrow(from[i], target[i]);
  });
}

}  // namespace

void add_attention_backward(Simd& table) {
  table.attention_backward = attention_backward;
  table.attention_deltas = attention_deltas;
  table.store_row = store_row;
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
