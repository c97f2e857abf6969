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

/// The rows of consecutive positions, without a division for each.
class RowWalk {
 public:
  RowWalk(const HeadTokens& t, int64_t first)
      : row_(first / t.piece * t.samples * t.piece + t.sample * t.piece + first % t.piece),
        left_(t.piece - first % t.piece),
        piece_(t.piece),
        jump_((t.samples - 1) * t.piece) {}

  int64_t next() {
    const auto row = row_++;
    if (--left_ == 0) {
      row_ += jump_;
      left_ = piece_;
    }
    return row;
  }

 private:
  int64_t row_, left_, piece_, jump_;
};

int64_t block_length(const HeadTokens& t, int64_t first) {
  return least(block, t.positions - first);
}

Vector load(const float* from) {
  return *reinterpret_cast<const Vector*>(from);
}
void store(float* to, Vector value) {
  *reinterpret_cast<Vector*>(to) = value;
}
Vector exponential(Vector x) {
  return exp_of<Vector, BitsVector>(x);
}

/// to (count × padded head_dim) := factor · rows [first, first + count), zeros beyond head_dim.
void pack_rows(const HeadTokens& t, const float* from, int64_t stride, int64_t first, float factor,
               float* to) {
  const auto width = padded(t.head_dim);
  const auto count = block_length(t, first);
  RowWalk rows(t, first);
  for (int64_t i = 0; i < count; ++i) {
    const float* source = from + rows.next() * stride;
    float* target = to + i * width;
#pragma omp simd
    for (int64_t d = 0; d < t.head_dim; ++d) target[d] = factor * source[d];
    for (int64_t d = t.head_dim; d < width; ++d) target[d] = 0.0F;
  }
}

/// to (head_dim × block) := the same rows as columns, zeros beyond the last up to whole tiles.
void pack_columns(const HeadTokens& t, const float* from, int64_t stride, int64_t first, float factor,
                  float* to) {
  constexpr int64_t strip = 16;  // columns of one cache line
  const auto count = block_length(t, first);
  RowWalk rows(t, first);
  for (int64_t i = 0; i < padded(count); i += strip) {
    const float* source[strip];
    const auto here = count - i < 0 ? 0 : least(strip, count - i);
    for (int64_t l = 0; l < here; ++l) source[l] = from + rows.next() * stride;
    for (int64_t d = 0; d < t.head_dim; ++d) {
      float* target = to + d * block + i;
      for (int64_t l = 0; l < here; ++l) target[l] = factor * source[l][d];
      for (int64_t l = here; l < strip; ++l) target[l] = 0.0F;
    }
  }
}

/// Adds factor times the rows of a packed block to the matrix, or stores them.
void unpack_rows(const HeadTokens& t, const float* from, int64_t first, float factor, Store mode, float* to,
                 int64_t stride) {
  const auto width = padded(t.head_dim);
  const auto count = block_length(t, first);
  RowWalk rows(t, first);
  for (int64_t i = 0; i < count; ++i) {
    const float* source = from + i * width;
    float* target = to + rows.next() * stride;
    if (mode == Store::accumulate) {
#pragma omp simd
      for (int64_t d = 0; d < t.head_dim; ++d) target[d] += factor * source[d];
    } else {
#pragma omp simd
      for (int64_t d = 0; d < t.head_dim; ++d) target[d] = factor * source[d];
    }
  }
}

/// What the forward keeps per query.
struct Running {
  float *maximum, *sum, *factor;  ///< factor: what the last block did to the weights before it
};

/// Scores (keys × queries) become weights, one vector of queries at a time down the keys: no sums across a
/// vector.
void weigh_columns(float* scores, int64_t keys, int64_t queries, bool diagonal, const Running& running) {
  for (int64_t j = 0; j < padded(queries); j += lanes) {
    const auto seen = diagonal ? least(keys, j + lanes) : keys;
    for (int64_t k = j; diagonal && k < seen; ++k) {
      for (int64_t l = 0; l < k - j; ++l) scores[k * block + j + l] = -__builtin_inff();
    }
    const auto before = load(running.maximum + j);
    auto most = before;
    for (int64_t k = 0; k < seen; ++k) {
      const auto score = load(scores + k * block + j);
      most = score > most ? score : most;
    }
    Vector total{};
    for (int64_t k = 0; k < seen; ++k) {
      const auto weight = exponential(load(scores + k * block + j) - most);
      store(scores + k * block + j, weight);
      total += weight;
    }
    for (int64_t k = seen; k < keys; ++k) store(scores + k * block + j, Vector{});
    const auto factor = exponential(before - most);
    store(running.factor + j, factor);
    store(running.maximum + j, most);
    store(running.sum + j, load(running.sum + j) * factor + total);
  }
}

void scale_rows(float* rows, int64_t count, int64_t width, const float* factor) {
  for (int64_t i = 0; i < count; ++i) {
    if (factor[i] == 1.0F) continue;
#pragma omp simd
    for (int64_t d = 0; d < width; ++d) rows[i * width + d] *= factor[i];
  }
}

/// One block of queries on its way through the keys.
struct QueryBlock {
  int64_t first, count;
  float *q, *out;  ///< q by dim, so that the scores come out as keys × queries
  Running running;
};

QueryBlock start_queries(const AttentionBlock& b, int64_t first, float* scratch) {
  const auto size = block * padded(b.tokens.head_dim);
  float* rest = scratch + 2 * size;
  const QueryBlock queries{
      first, block_length(b.tokens, first), scratch, scratch + size, {rest, rest + block, rest + 2 * block}};
  pack_columns(b.tokens, b.q, b.q_stride, first, b.scale, queries.q);
  for (int64_t i = 0; i < block; ++i) {
    queries.running.maximum[i] = -__builtin_inff();
    queries.running.sum[i] = 0.0F;
  }
  return queries;
}

void attend(const QueryBlock& queries, int64_t key, int64_t keys, int64_t head_dim, const float* k,
            const float* v, float* scores) {
  const auto width = padded(head_dim);
  const auto diagonal = key == queries.first;
  multiply(keys, padded(queries.count), head_dim, {k, width, 1}, {queries.q, block}, scores, block,
           Store::overwrite, diagonal ? Skip::below : Skip::nothing);
  weigh_columns(scores, keys, queries.count, diagonal, queries.running);
  if (key > 0) scale_rows(queries.out, queries.count, width, queries.running.factor);
  multiply(queries.count, width, keys, {scores, 1, block}, {v, width}, queries.out, width,
           key > 0 ? Store::accumulate : Store::overwrite, diagonal ? Skip::inner_above : Skip::nothing);
}

void finish_queries(const AttentionBlock& b, const QueryBlock& queries) {
  const auto width = padded(b.tokens.head_dim);
  RowWalk rows(b.tokens, queries.first);
  for (int64_t i = 0; i < queries.count; ++i) {
    const auto row = rows.next();
    const float inverse = 1.0F / queries.running.sum[i];
#pragma omp simd
    for (int64_t d = 0; d < b.tokens.head_dim; ++d) {
      b.out[row * b.out_stride + d] = queries.out[i * width + d] * inverse;
    }
    b.lse[row * b.lse_stride] = queries.running.maximum[i] + __builtin_logf(queries.running.sum[i]);
  }
}

void attention(const AttentionBlock& b) {
  const auto& t = b.tokens;
  const auto size = block * padded(t.head_dim);
  float* k = b.scratch;
  float* v = k + size;
  float* scores = v + size;
  float* rest = scores + block * block;
  QueryBlock queries[attention_query_blocks];
  int64_t count = 0;
  for (int64_t first = b.first; count < attention_query_blocks && first < t.positions; first += block) {
    queries[count++] = start_queries(b, first, rest);
    rest += 2 * size + 3 * block;
  }
  for (int64_t key = 0; key <= queries[count - 1].first; key += block) {
    pack_rows(t, b.k, b.k_stride, key, 1.0F, k);
    pack_rows(t, b.v, b.v_stride, key, 1.0F, v);
    for (int64_t i = 0; i < count; ++i) {
      if (key <= queries[i].first) attend(queries[i], key, block_length(t, key), t.head_dim, k, v, scores);
    }
  }
  for (int64_t i = 0; i < count; ++i) finish_queries(b, queries[i]);
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

/// Scores become weights and the gradient at the weights becomes that at the scores, row by row.
void slope_rows(const AttentionBackwardBlock& b, const BackwardBlocks& s, int64_t head, int64_t first,
                int64_t keys) {
  const auto& t = b.tokens;
  const auto diagonal = first == b.first;
  RowWalk rows(t, first);
  for (int64_t i = 0; i < block_length(t, first); ++i) {
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
void backward_queries(const AttentionBackwardBlock& b, const BackwardBlocks& s, int64_t head, int64_t first) {
  const auto& t = b.tokens;
  const auto width = padded(t.head_dim);
  const auto column = head * t.head_dim;
  const auto queries = block_length(t, first);
  const auto keys = block_length(t, b.first);
  const auto diagonal = first == b.first;
  const auto wanted = diagonal ? Skip::above : Skip::nothing;
  const auto transposed = diagonal ? Skip::inner_below : Skip::nothing;
  pack_rows(t, b.q + column, b.q_stride, first, b.scale, s.q);
  pack_rows(t, b.dout + column, b.dout_stride, first, 1.0F, s.dout);
  multiply(queries, padded(keys), t.head_dim, {s.q, width, 1}, {s.keys, block}, s.weights, block,
           Store::overwrite, wanted);
  multiply(queries, padded(keys), t.head_dim, {s.dout, width, 1}, {s.values, block}, s.slopes, block,
           Store::overwrite, wanted);
  slope_rows(b, s, head, first, keys);
  multiply(keys, width, queries, {s.weights, 1, block}, {s.dout, width}, s.dv, width, Store::accumulate,
           transposed);
  multiply(keys, width, queries, {s.slopes, 1, block}, {s.q, width}, s.dk, width, Store::accumulate,
           transposed);
  multiply(queries, width, keys, {s.slopes, block, 1}, {s.k, width}, s.dq, width, Store::overwrite,
           diagonal ? Skip::inner_above : Skip::nothing);
  unpack_rows(t, s.dq, first, b.scale, Store::accumulate, b.dq + column, b.dq_stride);
}

void attention_backward(const AttentionBackwardBlock& b) {
  const auto& t = b.tokens;
  const auto width = padded(t.head_dim);
  const auto s = blocks_in(b.scratch, width);
  pack_rows(t, b.k, b.k_stride, b.first, 1.0F, s.k);
  pack_columns(t, b.k, b.k_stride, b.first, 1.0F, s.keys);
  pack_columns(t, b.v, b.v_stride, b.first, 1.0F, s.values);
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
