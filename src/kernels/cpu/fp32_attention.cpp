// Attention in fp32: blocks of one head dealt to threads. Forward blocks are independent. In the backward one
// (sample, key/value head) is one thread's work, which adds to dq in the order of the key blocks; where there
// are fewer of those than threads, the key blocks are dealt in shares that add to a dq of their own, summed
// in order afterwards. No atomics, the same bits every time. Elements of 16 bits become fp32 where blocks are
// packed; only dq, which many blocks add to, needs a sum in fp32 beside it. Workspace of the backward: deltas
// (rows × heads), the sums of dq that dq itself cannot hold (each rows × heads · head_dim), private blocks
// per thread.

#include <omp.h>

#include <algorithm>

#include "core/errors.hpp"
#include "kernels/cpu/fp32.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/rows.hpp"
#include "kernels/workspace.hpp"

namespace galvatron::kernels {
namespace {

Element element_of(const TensorView& view) {
  if (view.dtype == core::DType::bf16) return Element::bf16;
  if (view.dtype == core::DType::f16) return Element::f16;
  GALV_ASSERT(view.dtype == core::DType::f32);
  return Element::f32;
}

std::byte* address(const TensorView& view, int64_t row, int64_t column) {
  return view.data + (row * view.row_stride + column) * core::size_of(view.dtype);
}

HeadInput input(const TensorView& view, int64_t column) {
  return {address(view, 0, column), view.row_stride, element_of(view)};
}

HeadOutput output(const TensorView& view, int64_t column) {
  return {address(view, 0, column), view.row_stride, element_of(view)};
}

template <class Args>
HeadTokens head_tokens(const Args& args, int64_t sample) {
  return {sample, args.samples, args.positions / args.pieces, args.head_dim};
}

int64_t blocks_in(int64_t positions, int64_t length) {
  return (positions + length - 1) / length;
}

/// As many queries of a head as may go through the keys together with some work left for every thread.
int64_t queries_together(int64_t queries, int64_t heads, int threads) {
  auto length = attention_query_blocks * attention_block;
  while (length > attention_block && heads * blocks_in(queries, length) < 4 * threads) length /= 2;
  return length;
}

AttentionBlock forward_block(const AttentionArgs& args, const AttentionSpan& span, int64_t sample,
                             int64_t head, float* scratch) {
  const auto kv = head / (args.heads / args.kv_heads) * args.head_dim;
  AttentionBlock block{};
  block.tokens = head_tokens(args, sample);
  block.q = input(args.q, head * args.head_dim);
  block.k = input(args.k, kv);
  block.v = input(args.v, kv);
  block.out = output(args.out, head * args.head_dim);
  block.lse = args.lse.as<float>() + head;
  block.lse_stride = args.lse.row_stride;
  block.key_end = span.key_end;
  block.causal = span.causal;
  block.merge = args.write == Write::accumulate;
  block.scale = static_cast<float>(args.scale);
  block.scratch = scratch;
  return block;
}

/// The sums of dq, one per share of the keys: the first in dq itself where that is fp32.
struct DqSums {
  float* first;
  int64_t first_stride;
  float* others;
  int64_t rows, cols;

  float* row(int64_t share, int64_t i) const {
    return share == 0 ? first + i * first_stride : others + ((share - 1) * rows + i) * cols;
  }
  int64_t stride(int64_t share) const { return share == 0 ? first_stride : cols; }
};

DqSums dq_sums(const TensorView& dq, float* workspace) {
  if (dq.dtype == core::DType::f32) return {dq.as<float>(), dq.row_stride, workspace, dq.rows, dq.cols};
  return {workspace, dq.cols, workspace + dq.rows * dq.cols, dq.rows, dq.cols};
}

AttentionBackwardBlock backward_block(const AttentionBackwardArgs& args, const AttentionSpan& span,
                                      int64_t sample, int64_t kv_head, const float* deltas) {
  const auto group = args.heads / args.kv_heads;
  const auto head = kv_head * group;
  AttentionBackwardBlock block{};
  block.tokens = head_tokens(args, sample);
  block.q = input(args.q, head * args.head_dim);
  block.k = input(args.k, kv_head * args.head_dim);
  block.v = input(args.v, kv_head * args.head_dim);
  block.dout = input(args.dout, head * args.head_dim);
  block.lse = args.lse.as<float>() + head;
  block.delta = deltas + head;
  block.dk = output(args.dk, kv_head * args.head_dim);
  block.dv = output(args.dv, kv_head * args.head_dim);
  block.lse_stride = args.lse.row_stride;
  block.delta_stride = args.heads;
  block.group = group;
  block.query_begin = span.query_begin;
  block.query_end = span.query_end;
  block.causal = span.causal;
  block.accumulate = args.write_kv == Write::accumulate;
  block.scale = static_cast<float>(args.scale);
  return block;
}

void zero_row(const TensorView& view, int64_t i) {
  std::fill_n(address(view, i, 0), view.cols * core::size_of(view.dtype), std::byte{});
}

/// The deltas of the rows [begin, end), zeros where sums begin, and in dk and dv zeros for keys that no query
/// of this part attends.
void prepare_rows(const Simd& simd, const AttentionBackwardArgs& args, const AttentionSpan& span,
                  int64_t begin, int64_t end, float* deltas, const DqSums& dq, int64_t shares) {
  simd.attention_deltas(
      {input(args.dout, 0), input(args.out, 0), deltas, begin, end, args.heads, args.head_dim});
  for (int64_t share = args.write_q == Write::accumulate ? 1 : 0; share < shares; ++share) {
    for (int64_t i = begin; i < end; ++i) std::fill_n(dq.row(share, i), dq.cols, 0.0F);
  }
  if (args.write_kv == Write::accumulate || span.key_end == args.positions) return;
  const auto piece = args.positions / args.pieces;
  for (int64_t i = begin; i < end; ++i) {
    if (i / (args.samples * piece) * piece + i % piece < span.key_end) continue;
    zero_row(args.dk, i);
    zero_row(args.dv, i);
  }
}

/// Adds the shares' sums of the rows [begin, end) in order and rounds them where dq is no fp32.
void finish_rows(const Simd& simd, const TensorView& to, int64_t begin, int64_t end, const DqSums& dq,
                 int64_t shares) {
  for (int64_t i = begin; i < end; ++i) {
    auto* sum = dq.row(0, i);
    for (int64_t share = 1; share < shares; ++share) simd.f32.accumulate(dq.row(share, i), sum, dq.cols);
    if (to.dtype != core::DType::f32) simd.store_row(sum, dq.cols, element_of(to), address(to, i, 0));
  }
}

}  // namespace

void Fp32::attention(const AttentionArgs& args) {
  const auto span = attention_span(args.part, args.positions);
  const auto heads = args.samples * args.heads;
  const auto queries = span.query_end - span.query_begin;
  const auto length = queries_together(queries, heads, threads_);
  const auto blocks = blocks_in(queries, length);
  const auto floats = workspace::attention_floats_per_thread(args.head_dim);
  auto* scratch = args.workspace.as<float>();
  // Where causal, the last queries see the most keys: they go first, so that the threads end together.
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 1) if (threads_ > 1)
  for (int64_t item = 0; item < heads * blocks; ++item) {
    const auto head = item % heads;
    auto block = forward_block(args, span, head / args.heads, head % args.heads,
                               scratch + omp_get_thread_num() * floats);
    block.first = span.query_begin + (blocks - 1 - item / heads) * length;
    block.query_end = std::min(block.first + length, span.query_end);
    simd_.attention(block);
  }
}

void Fp32::attention_backward(const AttentionBackwardArgs& args) {
  const auto span = attention_span(args.part, args.positions);
  const auto rows = args.samples * args.positions;
  const auto items = args.samples * args.kv_heads;
  const auto shares = workspace::attention_backward_shares(args, threads_);
  const auto length = (shares > 1 ? 1 : attention_key_blocks) * attention_block;
  const auto floats = workspace::attention_backward_floats_per_thread(args.head_dim);
  auto* deltas = args.workspace.as<float>();
  const auto dq = dq_sums(args.dq, deltas + rows * args.heads);
  auto* scratch = dq.others + (shares - 1) * rows * args.dq.cols;

  parallel_shares(threads_, rows, 1, [&](int64_t begin, int64_t end, int) {
    prepare_rows(simd_, args, span, begin, end, deltas, dq, shares);
  });
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 1) if (threads_ > 1)
  for (int64_t item = 0; item < items * shares; ++item) {
    const auto share = item / items;
    const auto head = item % items;
    const auto kv_head = head % args.kv_heads;
    auto block = backward_block(args, span, head / args.kv_heads, kv_head, deltas);
    block.dq = dq.row(share, 0) + kv_head * block.group * args.head_dim;
    block.dq_stride = dq.stride(share);
    block.scratch = scratch + omp_get_thread_num() * floats;
    for (block.first = share * length; block.first < span.key_end; block.first += shares * length) {
      block.key_end = std::min(block.first + length, span.key_end);
      simd_.attention_backward(block);
    }
  }
  const auto unfinished = shares > 1 || args.dq.dtype != core::DType::f32;
  parallel_shares(threads_, unfinished ? rows : 0, 1, [&](int64_t begin, int64_t end, int) {
    finish_rows(simd_, args.dq, begin, end, dq, shares);
  });
}

}  // namespace galvatron::kernels
