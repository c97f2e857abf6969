#pragma once
// One call of attention and of its backward for one part of queries × keys, in every type and way of writing
// that the contract allows.

#include <string>
#include <vector>

#include "parity/kernels/workbench.hpp"

namespace galvatron::kernels::test {

/// The type of out, dq, dk and dv where they are overwritten.
enum class Stored { elements, sums };

struct AttentionPartCase {
  int64_t samples, positions, pieces, heads, kv_heads, head_dim;
  AttentionPart part;
  Write write, write_q, write_kv;

  std::string name() const;
};

/// Every part × write × shape.
std::vector<AttentionPartCase> attention_part_cases();

/// Results: out, lse, dq, dk, dv. The backward gets an out and lse of its own, so that it is not judged by
/// how the forward was rounded.
void run_attention_part(Workbench& w, const AttentionPartCase& c, Stored stored);

/// Copies the dims of a case to the arguments of a call.
template <class Args, class Dims>
void set_attention_dims(Args& args, const Dims& c) {
  args.samples = c.samples;
  args.positions = c.positions;
  args.pieces = c.pieces;
  args.heads = c.heads;
  args.kv_heads = c.kv_heads;
  args.head_dim = c.head_dim;
  args.scale = 1.0 / std::sqrt(static_cast<double>(c.head_dim));
}

/// Columns [begin, begin + count).
inline TensorView columns(TensorView view, int64_t begin, int64_t count) {
  if (view.data) view.data += begin * core::size_of(view.dtype);
  view.cols = count;
  return view;
}

}  // namespace galvatron::kernels::test
