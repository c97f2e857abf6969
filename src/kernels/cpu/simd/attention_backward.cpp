// The backward of attention, one block of keys at a time: scores of a block of queries are computed again
// from q, k and the log-sum-exp (Dao et al., arXiv 2205.14135).

#include "kernels/cpu/simd/attention_blocks.hpp"
#include "kernels/cpu/simd/families.hpp"

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {
namespace {

/// A packed block of keys and what the queries add to it.
struct KeyBlock {
  Positions positions;
  float *k, *keys, *values, *dk, *dv;  ///< keys and values by dim
};

/// The packed block of queries of one step, and the blocks of keys that it goes through.
struct BackwardBlocks {
  float *q, *dout, *dq;
  float *weights, *slopes;  ///< queries × keys
  KeyBlock keys[attention_key_blocks];
  int64_t count;
};

BackwardBlocks pack_keys(const AttentionBackwardBlock& b) {
  const auto width = padded(b.tokens.head_dim);
  const auto part = block * width;
  float* rest = b.scratch;
  const auto take = [&](int64_t floats) {
    float* taken = rest;
    rest += floats;
    return taken;
  };
  BackwardBlocks s{};
  s.q = take(part);
  s.dout = take(part);
  s.dq = take(part);
  s.weights = take(block * block);
  s.slopes = take(block * block);
  for (int64_t first = b.first; first < b.key_end; first += block) {
    auto& keys = s.keys[s.count++];
    keys = {{&b.tokens, first, least(block, b.key_end - first)},
            take(part),
            take(part),
            take(part),
            take(part),
            take(part)};
    pack_rows(keys.positions, b.v, 1.0F, keys.k);
    transpose(keys.k, keys.positions.count, width, keys.values);
    pack_rows(keys.positions, b.k, 1.0F, keys.k);
    transpose(keys.k, keys.positions.count, width, keys.keys);
    for (int64_t i = 0; i < part; ++i) keys.dk[i] = keys.dv[i] = 0.0F;
  }
  return s;
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

/// All that one block of queries and one of keys add to dk, dv and dq.
void backward_pair(const AttentionBackwardBlock& b, const BackwardBlocks& s, const KeyBlock& keys,
                   int64_t head, const Positions& queries, Store mode) {
  const auto head_dim = b.tokens.head_dim;
  const auto width = padded(head_dim);
  const auto count = keys.positions.count;
  const auto diagonal = b.causal && queries.first == keys.positions.first;
  const auto wanted = diagonal ? Skip::above : Skip::nothing;
  const auto transposed = diagonal ? Skip::inner_below : Skip::nothing;
  multiply(queries.count, padded(count), head_dim, {s.q, width, 1}, {keys.keys, block}, s.weights, block,
           Store::overwrite, wanted);
  multiply(queries.count, padded(count), head_dim, {s.dout, width, 1}, {keys.values, block}, s.slopes, block,
           Store::overwrite, wanted);
  slope_rows(b, s, head, queries, count, diagonal);
  multiply(count, width, queries.count, {s.weights, 1, block}, {s.dout, width}, keys.dv, width,
           Store::accumulate, transposed);
  multiply(count, width, queries.count, {s.slopes, 1, block}, {s.q, width}, keys.dk, width, Store::accumulate,
           transposed);
  multiply(queries.count, width, count, {s.slopes, block, 1}, {keys.k, width}, s.dq, width, mode,
           diagonal ? Skip::inner_above : Skip::nothing);
}

/// One block of queries of one head through all packed blocks of keys that it attends.
void backward_queries(const AttentionBackwardBlock& b, const BackwardBlocks& s, int64_t head,
                      const Positions& queries) {
  const auto column = head * b.tokens.head_dim;
  pack_rows(queries, columns(b.q, column), b.scale, s.q);
  pack_rows(queries, columns(b.dout, column), 1.0F, s.dout);
  const auto after = queries.first + block;
  const Positions next{&b.tokens, after, least(block, b.query_end - after)};
  fetch_rows(queries, {b.dq + column, b.dq_stride, Element::f32});
  fetch_rows(next, columns(b.q, column));
  fetch_rows(next, columns(b.dout, column));
  for (int64_t i = 0; i < s.count; ++i) {
    if (b.causal && s.keys[i].positions.first > queries.first) break;
    backward_pair(b, s, s.keys[i], head, queries, i == 0 ? Store::overwrite : Store::accumulate);
  }
  unpack_rows(queries, s.dq, b.scale, Store::accumulate, {b.dq + column, b.dq_stride, Element::f32});
}

void attention_backward(const AttentionBackwardBlock& b) {
  const auto s = pack_keys(b);
  for (int64_t head = 0; head < b.group; ++head) {
    for (int64_t first = b.causal ? b.first : b.query_begin; first < b.query_end; first += block) {
      backward_queries(b, s, head, {&b.tokens, first, least(block, b.query_end - first)});
    }
  }
  const auto mode = b.accumulate ? Store::accumulate : Store::overwrite;
  for (int64_t i = 0; i < s.count; ++i) {
    unpack_rows(s.keys[i].positions, s.keys[i].dk, 1.0F, mode, b.dk);
    unpack_rows(s.keys[i].positions, s.keys[i].dv, 1.0F, mode, b.dv);
  }
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
