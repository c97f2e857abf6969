// Attention in fp32: blocks of one head dealt to threads. Forward blocks are independent. In the backward one
// (sample, key/value head) is one thread's work, which adds to dq in the order of the key blocks; where there
// are fewer of those than threads, the key blocks are dealt in parts that add to a dq of their own, summed in
// order afterwards. No atomics, the same bits every time. Workspace of the backward: deltas (rows × heads),
// dq of parts 1 … (each rows × heads · head_dim), private blocks per thread.

#include <omp.h>

#include <algorithm>

#include "kernels/cpu/fp32.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/rows.hpp"
#include "kernels/workspace.hpp"

namespace galvatron::kernels {
namespace {

template <class Args>
HeadTokens head_tokens(const Args& args, int64_t sample) {
  return {sample, args.samples, args.positions / args.pieces, args.positions, args.head_dim};
}

int64_t blocks_in(int64_t positions) {
  return (positions + attention_block - 1) / attention_block;
}

AttentionBlock forward_block(const AttentionArgs& args, int64_t sample, int64_t head, int64_t index,
                             float* scratch) {
  const auto kv = head / (args.heads / args.kv_heads) * args.head_dim;
  AttentionBlock block{};
  block.tokens = head_tokens(args, sample);
  block.q = args.q.as<float>() + head * args.head_dim;
  block.k = args.k.as<float>() + kv;
  block.v = args.v.as<float>() + kv;
  block.out = args.out.as<float>() + head * args.head_dim;
  block.lse = args.lse.as<float>() + head;
  block.q_stride = args.q.row_stride;
  block.k_stride = args.k.row_stride;
  block.v_stride = args.v.row_stride;
  block.out_stride = args.out.row_stride;
  block.lse_stride = args.lse.row_stride;
  block.first = index * attention_query_blocks * attention_block;
  block.scale = static_cast<float>(args.scale);
  block.scratch = scratch;
  return block;
}

/// Σ over a head's columns of dout · out for each row: what the softmax's gradient subtracts.
void store_deltas(const Simd& simd, const AttentionBackwardArgs& args, int64_t begin, int64_t end,
                  float* deltas) {
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t h = 0; h < args.heads; ++h) {
      const auto column = h * args.head_dim;
      deltas[i * args.heads + h] =
          simd.dot(row<float>(args.dout, i) + column, row<float>(args.out, i) + column, args.head_dim);
    }
  }
}

/// Where the parts of the backward put dq: part 0 in dq itself, the others in the workspace.
struct PartialDq {
  float* first;
  int64_t first_stride;
  float* others;
  int64_t rows, cols;

  float* part(int64_t index) const { return index == 0 ? first : others + (index - 1) * rows * cols; }
  int64_t stride(int64_t index) const { return index == 0 ? first_stride : cols; }
};

AttentionBackwardBlock backward_block(const AttentionBackwardArgs& args, int64_t sample, int64_t kv_head,
                                      const float* deltas, const PartialDq& dq, int64_t part) {
  const auto group = args.heads / args.kv_heads;
  const auto head = kv_head * group;
  AttentionBackwardBlock block{};
  block.tokens = head_tokens(args, sample);
  block.group = group;
  block.q = args.q.as<float>() + head * args.head_dim;
  block.k = args.k.as<float>() + kv_head * args.head_dim;
  block.v = args.v.as<float>() + kv_head * args.head_dim;
  block.dout = args.dout.as<float>() + head * args.head_dim;
  block.lse = args.lse.as<float>() + head;
  block.delta = deltas + head;
  block.dq = dq.part(part) + head * args.head_dim;
  block.dk = args.dk.as<float>() + kv_head * args.head_dim;
  block.dv = args.dv.as<float>() + kv_head * args.head_dim;
  block.q_stride = args.q.row_stride;
  block.k_stride = args.k.row_stride;
  block.v_stride = args.v.row_stride;
  block.dout_stride = args.dout.row_stride;
  block.lse_stride = args.lse.row_stride;
  block.delta_stride = args.heads;
  block.dq_stride = dq.stride(part);
  block.dk_stride = args.dk.row_stride;
  block.dv_stride = args.dv.row_stride;
  block.scale = static_cast<float>(args.scale);
  return block;
}

}  // namespace

void Fp32::attention(const AttentionArgs& args) {
  const auto heads = args.samples * args.heads;
  const auto blocks = (blocks_in(args.positions) + attention_query_blocks - 1) / attention_query_blocks;
  const auto floats = workspace::attention_floats_per_thread(args.head_dim);
  auto* scratch = args.workspace.as<float>();
  // The last queries see the most keys: they go first, so that the threads end together.
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 1) if (threads_ > 1)
  for (int64_t item = 0; item < heads * blocks; ++item) {
    const auto index = blocks - 1 - item / heads;
    const auto head = item % heads;
    simd_.attention(forward_block(args, head / args.heads, head % args.heads, index,
                                  scratch + omp_get_thread_num() * floats));
  }
}

void Fp32::attention_backward(const AttentionBackwardArgs& args) {
  const auto rows = args.samples * args.positions;
  const auto items = args.samples * args.kv_heads;
  const auto blocks = blocks_in(args.positions);
  const auto parts = workspace::attention_backward_parts(args, threads_);
  const auto floats = workspace::attention_backward_floats_per_thread(args.head_dim);
  auto* deltas = args.workspace.as<float>();
  const PartialDq dq{args.dq.as<float>(), args.dq.row_stride, deltas + rows * args.heads, rows, args.dq.cols};
  auto* scratch = dq.others + (parts - 1) * rows * args.dq.cols;

  parallel_shares(threads_, rows, 1, [&](int64_t begin, int64_t end, int) {
    store_deltas(simd_, args, begin, end, deltas);
    for (int64_t part = 0; part < parts; ++part) {
      for (int64_t i = begin; i < end; ++i) {
        std::fill_n(dq.part(part) + i * dq.stride(part), dq.cols, 0.0F);
      }
    }
  });
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 1) if (threads_ > 1)
  for (int64_t item = 0; item < items * parts; ++item) {
    const auto part = item / items;
    const auto head = item % items;
    auto block = backward_block(args, head / args.kv_heads, head % args.kv_heads, deltas, dq, part);
    block.scratch = scratch + omp_get_thread_num() * floats;
    for (int64_t index = part; index < blocks; index += parts) {
      block.first = index * attention_block;
      simd_.attention_backward(block);
    }
  }
  parallel_shares(threads_, parts > 1 ? rows : 0, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      auto* sum = row<float>(args.dq, i);
      for (int64_t part = 1; part < parts; ++part) {
        simd_.add(sum, dq.part(part) + i * dq.stride(part), sum, dq.cols);
      }
    }
  });
}

}  // namespace galvatron::kernels
