#pragma once
// Which attention call a library's fused kernel could make, and in which portions, in terms that depend on no
// library. Pure, so that decisions are tested where no device is.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/kernels.hpp"

namespace galvatron::kernels::cuda {

/// Backward keeps the gradients of the scores between its two passes, so that sums have a fixed order: one
/// element per pair of positions and head; of shared keys and values, those of every query head too. What it
/// may keep at once.
inline constexpr int64_t fused_portion_bytes = int64_t{512} << 20;

/// All that the choice of a kernel depends on: calls with equal keys may use the same plan. Strides are
/// elements; those of gradients are 0 in the forward.
struct FusedAttentionKey {
  core::DType type = core::DType::bf16;
  Direction direction = Direction::forward;
  int64_t samples = 0, positions = 0, heads = 0, kv_heads = 0, head_dim = 0;
  int64_t stride_q = 0, stride_k = 0, stride_v = 0, stride_out = 0, stride_lse = 0;
  int64_t stride_dout = 0, stride_dq = 0, stride_dk = 0, stride_dv = 0;
  int64_t portion_samples = 0, portion_kv_heads = 0;  ///< what one launch makes; divisors of the call's
  auto operator<=>(const FusedAttentionKey&) const = default;

  int64_t group() const { return heads / kv_heads; }
  int64_t portion_heads() const { return portion_kv_heads * group(); }
};

/// Nothing for a call that no fused kernel is asked to make: elements of 32 bits or more, a part of a ring,
/// sums that are added to, heads wider than 128 or not of whole 16 bytes, samples whose rows lie in several
/// pieces; backward also positions that are no multiple of 128. Backward works through the call in portions
/// of equal shape that keep `portion_bytes` or less; nothing where the smallest does not.
std::optional<FusedAttentionKey> fused_key_of(const AttentionArgs& args);
std::optional<FusedAttentionKey> fused_key_of(const AttentionBackwardArgs& args,
                                              int64_t portion_bytes = fused_portion_bytes);

/// Memory of a launch: what the library may ask for, and (backward) the row sums of dout · out.
int64_t fused_library_bytes(const FusedAttentionKey& key);
int64_t fused_row_sum_bytes(const FusedAttentionKey& key);
/// Both, wherever the workspace begins.
int64_t fused_workspace_bytes(const FusedAttentionKey& key);
inline constexpr int64_t fused_alignment = 256;

/// The key in one line: by this a choice is found in a profile.
std::string text_of(const FusedAttentionKey& key);

}  // namespace galvatron::kernels::cuda
