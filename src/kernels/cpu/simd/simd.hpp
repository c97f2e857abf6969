#pragma once
// The inner loops of the fp32 kernels as a table of functions. The files beside this one are compiled once
// per instruction-set level (simd/CMakeLists.txt), each into a namespace of its own, and the best level that
// the processor has is chosen at run time: one program runs on every node and uses what the node offers.
// Everything here is plain addresses and numbers, because an inline function shared between the levels could
// carry the highest level's instructions into code for the lowest.

#include <cstdint>

#include "kernels/cpu/simd/element_table.hpp"

namespace galvatron::kernels {

/// Rows of a block of queries or keys in attention.
inline constexpr int64_t attention_block = 96;
/// Most blocks of queries that go through the keys together in the forward, so that keys are packed less
/// often, and most blocks of keys that the queries go through together in the backward.
inline constexpr int64_t attention_query_blocks = 4;
inline constexpr int64_t attention_key_blocks = 4;

/// How a number lies in memory. All arithmetic is fp32.
enum class Element : uint8_t { f32, bf16, f16 };

/// Rows of a matrix, from one of its columns in row 0 on; the stride counts elements.
struct HeadInput {
  const void* data;
  int64_t stride;
  Element element;
};
struct HeadOutput {
  void* data;
  int64_t stride;
  Element element;
};

/// Where the rows of one head are: token (sample, position) is row position / piece · samples · piece +
/// sample · piece + position % piece.
struct HeadTokens {
  int64_t sample, samples, piece, head_dim;
};

/// Forward of the queries [first, query_end) of one head, at most `attention_query_blocks` blocks, against
/// the keys [0, key_end), or, where causal, up to each query itself. merge: out and lse hold an earlier
/// result.
struct AttentionBlock {
  HeadTokens tokens;
  HeadInput q, k, v;
  HeadOutput out;
  float* lse;
  int64_t lse_stride;
  int64_t first, query_end, key_end;
  bool causal, merge;
  float scale;
  float* scratch;
};

/// Backward through the keys [first, key_end), at most `attention_key_blocks` blocks, of one key/value head
/// for all `group` query heads that read it and for the queries [query_begin, query_end), where causal from
/// the key's own on: stores dk and dv of these keys or adds to them, adds to dq. Inputs and outputs are those
/// of the first head.
struct AttentionBackwardBlock {
  HeadTokens tokens;
  HeadInput q, k, v, dout;
  const float *lse, *delta;
  float* dq;
  HeadOutput dk, dv;
  int64_t lse_stride, delta_stride, dq_stride;
  int64_t group, first, query_begin, query_end, key_end;
  bool causal, accumulate;
  float scale;
  float* scratch;
};

/// Σ over each head's columns of dout · out for the rows [begin, end): what the softmax's gradient subtracts.
struct AttentionDeltas {
  HeadInput dout, out;
  float* deltas;  ///< rows × heads
  int64_t begin, end, heads, head_dim;
};

struct Simd {
  const char* level;

  ElementTable<float> f32;
  ElementTable<Bf16> bf16;
  ElementTable<F16> f16;

  void (*scale)(float* x, float factor, int64_t n);
  double (*sum_of_squares)(const float* x, int64_t n);
  /// x := exp(x − shift); returns the sum.
  double (*exponentiate)(float* x, int64_t n, float shift);

  void (*attention)(const AttentionBlock& block);
  void (*attention_backward)(const AttentionBackwardBlock& block);
  void (*attention_deltas)(const AttentionDeltas& rows);
  /// to := from, rounded to the element.
  void (*store_row)(const float* from, int64_t n, Element element, void* to);
};

/// The tables that this processor can run, best first.
struct SimdLevels {
  const Simd* table[3];
  int64_t count;
};

SimdLevels available_simd();

}  // namespace galvatron::kernels
