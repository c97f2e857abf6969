// The layouts behind these sizes are in cpu/fp32_attention.cpp and cpu/fp32_norm.cpp.

#include "kernels/workspace.hpp"

#include <algorithm>

#include "kernels/cpu/rows.hpp"
#include "kernels/cpu/simd/simd.hpp"

namespace galvatron::kernels::workspace {
namespace {

constexpr int64_t float_bytes = 4;
constexpr int64_t double_bytes = 8;

bool is_fp64(const TensorView& view) {
  return view.dtype == core::DType::f64;
}

}  // namespace

int64_t attention_backward_shares(const AttentionBackwardArgs& args, int threads) {
  const auto items = std::max<int64_t>(args.samples * args.kv_heads, 1);
  const auto keys = attention_span(args.part, args.positions).key_end;
  const auto blocks = (keys + attention_block - 1) / attention_block;
  return std::clamp<int64_t>((threads + items - 1) / items, 1, std::max<int64_t>(blocks, 1));
}

int64_t attention_floats_per_thread(int64_t head_dim) {
  // keys, values; scores; per block of queries: q, out, and maximum, sum and factor per query
  const auto width = padded_head_dim(head_dim);
  return attention_block * (2 * width + attention_block + attention_query_blocks * (2 * width + 3));
}

int64_t attention_backward_floats_per_thread(int64_t head_dim) {
  // q, dout, dq; scores and their gradient; per block of keys: k, k and v by dim, dk, dv
  return attention_block * ((3 + 5 * attention_key_blocks) * padded_head_dim(head_dim) + 2 * attention_block);
}

int64_t norm_backward_bytes(const NormBackwardArgs& args, int threads) {
  return is_fp64(args.x) ? 0 : 2 * threads * args.x.cols * float_bytes;
}

int64_t attention_bytes(const AttentionArgs& args, int threads) {
  if (is_fp64(args.q)) return args.positions * double_bytes;
  return threads * attention_floats_per_thread(args.head_dim) * float_bytes;
}

int64_t attention_backward_bytes(const AttentionBackwardArgs& args, int threads) {
  if (is_fp64(args.q)) return 0;
  const auto rows = args.samples * args.positions;
  const auto deltas = rows * args.heads;
  // dq itself holds the first sum where its elements are fp32.
  const auto sums = attention_backward_shares(args, threads) - (args.dq.dtype == core::DType::f32 ? 1 : 0);
  const auto dq = sums * rows * args.heads * args.head_dim;
  return (threads * attention_backward_floats_per_thread(args.head_dim) + deltas + dq) * float_bytes;
}

}  // namespace galvatron::kernels::workspace
