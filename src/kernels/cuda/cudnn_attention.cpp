// The patterns are those of cuDNN's documentation of its fused flash attention: the library recognises a
// graph by the order and the kinds of its operations. Keys and values are given transposed, as dims and
// strides. P is the weights, S the scores: O = P V, P = exp(S − lse); dS = P ∘ (dO Vᵀ − rowsum(dO ∘ O)). The
// pattern with fp32 sums of dq in memory is left out: there the library adds by atomics, in another order
// every time. Without it the library keeps dS in its workspace and sums it in order.

#include "kernels/cuda/cudnn_attention.hpp"

namespace galvatron::kernels::cuda::cudnn {
namespace {

constexpr int64_t rows_axis = 2, columns_axis = 3;

Type type_of(core::DType type) {
  return type == core::DType::bf16 ? Type::bf16 : Type::f16;
}

/// What all tensors of a call are shaped by.
struct Shape {
  explicit Shape(const FusedAttentionKey& key)
      : key(key),
        type(type_of(key.type)),
        scores{key.portion_samples, key.portion_heads(), key.positions, key.positions},
        rows{key.portion_samples, key.portion_heads(), key.positions, 1} {}

  /// [sample][head][position][column] of a matrix of tokens.
  TensorId tokens(Graph& graph, int64_t heads, int64_t stride) const {
    return graph.in_memory(type, {key.portion_samples, heads, key.positions, key.head_dim},
                           {key.positions * stride, key.head_dim, stride, 1});
  }
  TensorId tokens_transposed(Graph& graph, int64_t heads, int64_t stride) const {
    return graph.in_memory(type, {key.portion_samples, heads, key.head_dim, key.positions},
                           {key.positions * stride, key.head_dim, 1, stride});
  }
  TensorId statistics(Graph& graph) const {
    return graph.in_memory(Type::f32, rows, {key.positions * key.stride_lse, 1, key.stride_lse, 1}, 4);
  }

  const FusedAttentionKey& key;
  Type type;
  Dims scores, rows;
};

/// The masked scores of earlier queries for later keys become `lowest`.
TensorId causal(Graph& graph, const Shape& shape, TensorId scores, TensorId lowest) {
  const auto row = graph.between(shape.scores, Type::i32), column = graph.between(shape.scores, Type::i32);
  graph.index(rows_axis, scores, row);
  graph.index(columns_axis, scores, column);
  const auto attends = graph.between(shape.scores, Type::boolean);
  graph.not_less(row, column, attends);
  const auto masked = graph.between(shape.scores);
  graph.select(scores, lowest, attends, masked);
  return masked;
}

TensorId scaled(Graph& graph, const Shape& shape, TensorId x, TensorId scale) {
  const auto y = graph.between(shape.scores);
  graph.pointwise(Pointwise::multiply, x, scale, y);
  return y;
}

}  // namespace

ForwardGraph::ForwardGraph(const Functions& functions, const FusedAttentionKey& key) : graph(functions) {
  const Shape shape(key);
  q = shape.tokens(graph, key.portion_heads(), key.stride_q);
  k = shape.tokens_transposed(graph, key.portion_kv_heads, key.stride_k);
  v = shape.tokens(graph, key.portion_kv_heads, key.stride_v);
  scale = graph.scalar();
  lowest = graph.scalar();
  out = shape.tokens(graph, key.portion_heads(), key.stride_out);
  lse = shape.statistics(graph);

  const auto products = graph.between(shape.scores);
  graph.matmul(q, k, products);
  const auto scores = causal(graph, shape, scaled(graph, shape, products, scale), lowest);
  const auto most = graph.between(shape.rows), less = graph.between(shape.scores);
  graph.reduce(Reduction::maximum, scores, most);
  graph.pointwise(Pointwise::subtract, scores, most, less);
  const auto exponentials = graph.between(shape.scores);
  graph.pointwise(Pointwise::exponential, less, exponentials);
  const auto sum = graph.between(shape.rows), logarithm = graph.between(shape.rows);
  graph.reduce(Reduction::add, exponentials, sum);
  graph.pointwise(Pointwise::logarithm, sum, logarithm);
  graph.pointwise(Pointwise::add, most, logarithm, lse);
  const auto weights = graph.between(shape.scores, shape.type);
  graph.pointwise(Pointwise::divide, exponentials, sum, weights);
  graph.matmul(weights, v, out);
}

namespace {

/// xᵀ · y, summed over the query heads of a key/value head.
void heads_product(Graph& graph, const Shape& shape, TensorId x, TensorId y, TensorId result) {
  const auto& key = shape.key;
  const auto turned = graph.transposed(x, shape.type);
  if (key.group() == 1) return graph.matmul(turned, y, result);
  const auto every_head =
      graph.between({key.portion_samples, key.portion_heads(), key.positions, key.head_dim}, shape.type);
  graph.matmul(turned, y, every_head);
  graph.reduce(Reduction::add, every_head, result);
}

}  // namespace

BackwardGraph::BackwardGraph(const Functions& functions, const FusedAttentionKey& key) : graph(functions) {
  const Shape shape(key);
  q = shape.tokens(graph, key.portion_heads(), key.stride_q);
  k = shape.tokens_transposed(graph, key.portion_kv_heads, key.stride_k);
  v = shape.tokens_transposed(graph, key.portion_kv_heads, key.stride_v);
  out = shape.tokens(graph, key.portion_heads(), key.stride_out);
  lse = shape.statistics(graph);
  dout = shape.tokens(graph, key.portion_heads(), key.stride_dout);
  scale = graph.scalar();
  lowest = graph.scalar();
  one = graph.scalar();
  const Dims heads{key.portion_samples, key.portion_heads(), key.positions, key.head_dim};
  row_sums =
      graph.in_memory(Type::f32, shape.rows, {key.portion_heads() * key.positions, key.positions, 1, 1});
  dq = shape.tokens(graph, key.portion_heads(), key.stride_dq);
  dk = shape.tokens(graph, key.portion_kv_heads, key.stride_dk);
  dv = shape.tokens(graph, key.portion_kv_heads, key.stride_dv);

  const auto both = graph.between(heads), sums = graph.between(shape.rows);
  graph.pointwise(Pointwise::multiply, dout, out, both);
  graph.reduce(Reduction::add, both, sums);
  graph.pointwise(Pointwise::multiply, sums, one, row_sums);

  const auto products = graph.between(shape.scores), less = graph.between(shape.scores);
  graph.matmul(q, k, products);
  graph.pointwise(Pointwise::subtract, scaled(graph, shape, products, scale), lse, less);
  const auto weights = graph.between(shape.scores);
  graph.pointwise(Pointwise::exponential, causal(graph, shape, less, lowest), weights);
  heads_product(graph, shape, weights, dout, dv);

  const auto slopes = graph.between(shape.scores), centred = graph.between(shape.scores);
  graph.matmul(dout, v, slopes);
  graph.pointwise(Pointwise::subtract, slopes, row_sums, centred);
  const auto raw = graph.between(shape.scores);
  graph.pointwise(Pointwise::multiply, centred, weights, raw);
  const auto dscores = scaled(graph, shape, raw, scale);
  heads_product(graph, shape, dscores, q, dk);

  const auto keys = graph.transposed(k, shape.type);
  graph.matmul(dscores, keys, dq);
}

}  // namespace galvatron::kernels::cuda::cudnn
