#pragma once
// How much scratch memory the cpu back end needs, as pure functions of shapes and threads, so that the dry
// back end gives the same numbers. All sizes are bytes. fp32 and fp64 differ, the views' dtype decides.

#include <cstdint>

#include "kernels/kernels.hpp"

namespace galvatron::kernels::workspace {

/// Columns that a packed block of head_dim columns takes: room for whole vectors of any processor.
constexpr int64_t padded_head_dim(int64_t head_dim) {
  return (head_dim + 31) / 32 * 32;
}

/// Into how many shares the keys of one (sample, key/value head) are dealt in the backward, so that all
/// threads have work.
int64_t attention_backward_shares(const AttentionBackwardArgs& args, int threads);

/// Floats of private blocks per thread.
int64_t attention_floats_per_thread(int64_t head_dim);
int64_t attention_backward_floats_per_thread(int64_t head_dim);

int64_t norm_backward_bytes(const NormBackwardArgs& args, int threads);
int64_t attention_bytes(const AttentionArgs& args, int threads);
int64_t attention_backward_bytes(const AttentionBackwardArgs& args, int threads);

}  // namespace galvatron::kernels::workspace
