// Attention block by block with a running maximum and sum (Milakov and Gimelshein, arXiv 1805.02867; Dao et
// al., arXiv 2205.14135): scores exist for one block of queries and one of keys at a time, and blocks above
// the diagonal are never touched. Merging into an earlier result needs nothing of its own: it is where the
// running maximum, sum and output start.

#include "kernels/cpu/simd/attention_blocks.hpp"
#include "kernels/cpu/simd/families.hpp"

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {
namespace {

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
  Positions positions;
  float *q, *out;  ///< q by dim, so that the scores come out as keys × queries
  Running running;
};

QueryBlock start_queries(const AttentionBlock& b, int64_t first, float* scratch) {
  const auto size = block * padded(b.tokens.head_dim);
  float* rest = scratch + 2 * size;
  const QueryBlock queries{{&b.tokens, first, least(block, b.query_end - first)},
                           scratch,
                           scratch + size,
                           {rest, rest + block, rest + 2 * block}};
  pack_rows(queries.positions, b.q, b.scale, queries.out);
  transpose(queries.out, queries.positions.count, padded(b.tokens.head_dim), queries.q);
  for (int64_t i = 0; i < block; ++i) {
    queries.running.maximum[i] = -__builtin_inff();
    queries.running.sum[i] = 0.0F;
  }
  if (b.merge) {
    pack_rows(queries.positions, {b.out.data, b.out.stride, b.out.element}, 1.0F, queries.out);
    RowWalk rows(b.tokens, first);
    for (int64_t i = 0; i < queries.positions.count; ++i) {
      queries.running.maximum[i] = b.lse[rows.next() * b.lse_stride];
      queries.running.sum[i] = 1.0F;
    }
  }
  return queries;
}

/// The packed block of keys that all blocks of queries attend next.
struct KeyBlock {
  int64_t first, count;
  const float *k, *v;
};

void attend(const AttentionBlock& b, const QueryBlock& queries, const KeyBlock& keys, float* scores) {
  const auto width = padded(b.tokens.head_dim);
  const auto count = queries.positions.count;
  const auto diagonal = b.causal && keys.first == queries.positions.first;
  const auto started = keys.first > 0 || b.merge;
  multiply(keys.count, padded(count), b.tokens.head_dim, {keys.k, width, 1}, {queries.q, block}, scores,
           block, Store::overwrite, diagonal ? Skip::below : Skip::nothing);
  weigh_columns(scores, keys.count, count, diagonal, queries.running);
  if (started) scale_rows(queries.out, count, width, queries.running.factor);
  multiply(count, width, keys.count, {scores, 1, block}, {keys.v, width}, queries.out, width,
           started ? Store::accumulate : Store::overwrite, diagonal ? Skip::inner_above : Skip::nothing);
}

void finish_queries(const AttentionBlock& b, const QueryBlock& queries) {
  const auto width = padded(b.tokens.head_dim);
  RowWalk rows(b.tokens, queries.positions.first);
  for (int64_t i = 0; i < queries.positions.count; ++i) {
    const float inverse = 1.0F / queries.running.sum[i];
#pragma omp simd
    for (int64_t d = 0; d < width; ++d) queries.out[i * width + d] *= inverse;
    b.lse[rows.next() * b.lse_stride] = queries.running.maximum[i] + __builtin_logf(queries.running.sum[i]);
  }
  unpack_rows(queries.positions, queries.out, 1.0F, Store::overwrite, b.out);
}

void attention(const AttentionBlock& b) {
  const auto size = block * padded(b.tokens.head_dim);
  float* k = b.scratch;
  float* v = k + size;
  float* scores = v + size;
  float* rest = scores + block * block;
  QueryBlock queries[attention_query_blocks];
  int64_t count = 0;
  for (int64_t first = b.first; first < b.query_end; first += block) {
    queries[count++] = start_queries(b, first, rest);
    rest += 2 * size + 3 * block;
  }
  const auto key_end = b.causal ? b.query_end : b.key_end;
  for (int64_t key = 0; key < key_end; key += block) {
    const Positions keys{&b.tokens, key, least(block, key_end - key)};
    pack_rows(keys, b.k, 1.0F, k);
    pack_rows(keys, b.v, 1.0F, v);
    const Positions next{&b.tokens, key + block, least(block, key_end - key - block)};
    fetch_rows(next, b.k);
    fetch_rows(next, b.v);
    for (int64_t i = 0; i < count; ++i) {
      if (b.causal && key > queries[i].positions.first) continue;
      attend(b, queries[i], {key, keys.count, k, v}, scores);
    }
  }
  for (int64_t i = 0; i < count; ++i) finish_queries(b, queries[i]);
}

}  // namespace

void add_attention(Simd& table) {
  table.attention = attention;
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
