// Causal attention block by block with a running maximum and sum (Milakov and Gimelshein, arXiv 1805.02867;
// Dao et al., arXiv 2205.14135): scores exist for one block of queries and one of keys at a time, and blocks
// above the diagonal are never touched. Blocks are packed first: rows of a fused q/k/v matrix lie far apart,
// and the product wants keys by dim.

#include "kernels/cpu/simd/families.hpp"
#include "kernels/cpu/simd/math.hpp"
#include "kernels/cpu/simd/tile.hpp"

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {
namespace {

constexpr int64_t block = attention_block;

int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

int64_t row_of(const HeadTokens& t, int64_t position) {
  return position / t.piece * t.samples * t.piece + t.sample * t.piece + position % t.piece;
}

int64_t block_length(const HeadTokens& t, int64_t first) {
  return least(block, t.positions - first);
}

/// to (count × padded head_dim) := factor · rows [first, first + count), zeros beyond head_dim.
void pack_rows(const HeadTokens& t, const float* from, int64_t stride, int64_t first, float factor,
               float* to) {
  const auto width = padded(t.head_dim);
  const auto count = block_length(t, first);
  for (int64_t i = 0; i < count; ++i) {
    const float* source = from + row_of(t, first + i) * stride;
    float* target = to + i * width;
#pragma omp simd
    for (int64_t d = 0; d < t.head_dim; ++d) target[d] = factor * source[d];
    for (int64_t d = t.head_dim; d < width; ++d) target[d] = 0.0F;
  }
}

/// to (head_dim × block) := the same rows as columns, zeros beyond the last up to whole tiles.
void pack_columns(const HeadTokens& t, const float* from, int64_t stride, int64_t first, float* to) {
  constexpr int64_t strip = 16;  // columns of one cache line
  const auto count = block_length(t, first);
  for (int64_t i = 0; i < padded(count); i += strip) {
    const float* source[strip];
    const auto here = least(strip, count - i);
    for (int64_t l = 0; l < here; ++l) source[l] = from + row_of(t, first + i + l) * stride;
    for (int64_t d = 0; d < t.head_dim; ++d) {
      float* target = to + d * block + i;
      for (int64_t l = 0; l < here; ++l) target[l] = source[l][d];
      for (int64_t l = here < 0 ? 0 : here; l < strip; ++l) target[l] = 0.0F;
    }
  }
}

/// Adds count rows of a packed block to the matrix, or stores them.
void unpack_rows(const HeadTokens& t, const float* from, int64_t first, float factor, Store store, float* to,
                 int64_t stride) {
  const auto width = padded(t.head_dim);
  const auto count = block_length(t, first);
  for (int64_t i = 0; i < count; ++i) {
    const float* source = from + i * width;
    float* target = to + row_of(t, first + i) * stride;
    if (store == Store::accumulate) {
#pragma omp simd
      for (int64_t d = 0; d < t.head_dim; ++d) target[d] += factor * source[d];
    } else {
#pragma omp simd
      for (int64_t d = 0; d < t.head_dim; ++d) target[d] = factor * source[d];
    }
  }
}

float row_maximum(const float* x, int64_t n) {
  Vector best = *reinterpret_cast<const Vector*>(x);
  for (int64_t i = lanes; i < n; i += lanes) {
    const auto value = *reinterpret_cast<const Vector*>(x + i);
    best = value > best ? value : best;
  }
  float most = best[0];
  for (int64_t l = 1; l < lanes; ++l) most = best[l] > most ? best[l] : most;
  return most;
}

/// One row of scores becomes weights; `seen` of its `n` columns are not masked. Returns the factor for what
/// was summed before.
float weigh_row(float* scores, int64_t seen, int64_t n, float& maximum, float& sum) {
  for (int64_t j = seen; j < n; ++j) scores[j] = -__builtin_inff();
  const float most = row_maximum(scores, n);
  const float now = most > maximum ? most : maximum;
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t j = 0; j < n; ++j) {
    const float weight = exp_of(scores[j] - now);
    scores[j] = weight;
    total += weight;
  }
  const float factor = exp_of(maximum - now);
  maximum = now;
  sum = sum * factor + total;
  return factor;
}

void attention(const AttentionBlock& b) {
  const auto& t = b.tokens;
  const auto width = padded(t.head_dim);
  const auto queries = block_length(t, b.first);
  float* q = b.scratch;
  float* keys = q + block * width;
  float* v = keys + block * width;
  float* out = v + block * width;
  float* scores = out + block * width;
  float* maximum = scores + block * block;
  float* sum = maximum + block;
  pack_rows(t, b.q, b.q_stride, b.first, b.scale, q);
  for (int64_t i = 0; i < block * width; ++i) out[i] = 0.0F;
  for (int64_t i = 0; i < block; ++i) {
    maximum[i] = -__builtin_inff();
    sum[i] = 0.0F;
  }
  for (int64_t key = 0; key <= b.first; key += block) {
    const auto diagonal = key == b.first;
    const auto count = block_length(t, key);
    pack_columns(t, b.k, b.k_stride, key, keys);
    pack_rows(t, b.v, b.v_stride, key, 1.0F, v);
    multiply(queries, padded(count), t.head_dim, {q, width, 1}, {keys, block}, scores, block,
             Store::overwrite, diagonal ? Skip::outputs : Skip::nothing);
    for (int64_t i = 0; i < queries; ++i) {
      const auto seen = diagonal ? i + 1 : count;
      const float factor = weigh_row(scores + i * block, seen, padded(count), maximum[i], sum[i]);
      if (factor == 1.0F) continue;
#pragma omp simd
      for (int64_t d = 0; d < width; ++d) out[i * width + d] *= factor;
    }
    multiply(queries, width, count, {scores, block, 1}, {v, width}, out, width, Store::accumulate,
             diagonal ? Skip::inner_left : Skip::nothing);
  }
  for (int64_t i = 0; i < queries; ++i) {
    const auto row = row_of(t, b.first + i);
    const float inverse = 1.0F / sum[i];
    for (int64_t d = 0; d < t.head_dim; ++d) b.out[row * b.out_stride + d] = out[i * width + d] * inverse;
    b.lse[row * b.lse_stride] = maximum[i] + __builtin_logf(sum[i]);
  }
}

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

/// scores → weights and the gradient at the weights → the gradient at the scores, row by row.
void slope_rows(const AttentionBackwardBlock& b, const BackwardBlocks& s, int64_t head, int64_t first,
                int64_t keys) {
  const auto& t = b.tokens;
  const auto diagonal = first == b.first;
  for (int64_t i = 0; i < block_length(t, first); ++i) {
    const auto row = row_of(t, first + i);
    const float lse = b.lse[row * b.lse_stride + head];
    const float delta = b.delta[row * b.delta_stride + head];
    float* weights = s.weights + i * block;
    float* slopes = s.slopes + i * block;
    const auto seen = diagonal ? i + 1 : keys;
#pragma omp simd
    for (int64_t j = 0; j < seen; ++j) {
      const float weight = exp_of(weights[j] - lse);
      weights[j] = weight;
      slopes[j] = weight * (slopes[j] - delta);
    }
    for (int64_t j = seen; j < keys; ++j) weights[j] = slopes[j] = 0.0F;
  }
}

/// All that one block of queries of one head adds to dk, dv and dq.
void backward_queries(const AttentionBackwardBlock& b, const BackwardBlocks& s, int64_t head, int64_t first) {
  const auto& t = b.tokens;
  const auto width = padded(t.head_dim);
  const auto column = head * t.head_dim;
  const auto queries = block_length(t, first);
  const auto keys = block_length(t, b.first);
  const auto diagonal = first == b.first;
  const auto outputs = diagonal ? Skip::outputs : Skip::nothing;
  const auto transposed = diagonal ? Skip::inner_right : Skip::nothing;
  pack_rows(t, b.q + column, b.q_stride, first, b.scale, s.q);
  pack_rows(t, b.dout + column, b.dout_stride, first, 1.0F, s.dout);
  multiply(queries, padded(keys), t.head_dim, {s.q, width, 1}, {s.keys, block}, s.weights, block,
           Store::overwrite, outputs);
  multiply(queries, padded(keys), t.head_dim, {s.dout, width, 1}, {s.values, block}, s.slopes, block,
           Store::overwrite, outputs);
  slope_rows(b, s, head, first, keys);
  multiply(keys, width, queries, {s.weights, 1, block}, {s.dout, width}, s.dv, width, Store::accumulate,
           transposed);
  multiply(keys, width, queries, {s.slopes, 1, block}, {s.q, width}, s.dk, width, Store::accumulate,
           transposed);
  multiply(queries, width, keys, {s.slopes, block, 1}, {s.k, width}, s.dq, width, Store::overwrite,
           diagonal ? Skip::inner_left : Skip::nothing);
  unpack_rows(t, s.dq, first, b.scale, Store::accumulate, b.dq + column, b.dq_stride);
}

void attention_backward(const AttentionBackwardBlock& b) {
  const auto& t = b.tokens;
  const auto width = padded(t.head_dim);
  const auto s = blocks_in(b.scratch, width);
  pack_rows(t, b.k, b.k_stride, b.first, 1.0F, s.k);
  pack_columns(t, b.k, b.k_stride, b.first, s.keys);
  pack_columns(t, b.v, b.v_stride, b.first, s.values);
  for (int64_t i = 0; i < block * width; ++i) s.dk[i] = s.dv[i] = 0.0F;
  for (int64_t head = 0; head < b.group; ++head) {
    for (int64_t first = b.first; first < t.positions; first += block) backward_queries(b, s, head, first);
  }
  unpack_rows(t, s.dk, b.first, 1.0F, Store::overwrite, b.dk, b.dk_stride);
  unpack_rows(t, s.dv, b.first, 1.0F, Store::overwrite, b.dv, b.dv_stride);
}

}  // namespace

void add_attention(Simd& table) {
  table.attention = attention;
  table.attention_backward = attention_backward;
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
