// Rules of cuDNN 9's support matrix for its flash kernels, on the side of caution.

#include "kernels/cuda/fused_attention.hpp"

#include <algorithm>
#include <initializer_list>

#include "core/format.hpp"

namespace galvatron::kernels::cuda {
namespace {

constexpr int64_t widest_head = 128;
constexpr int64_t whole_elements = 8;  // 16 bytes
constexpr int64_t whole_positions = 128;
constexpr int64_t element_bytes = 2;
constexpr int64_t library_needs = 4096;  // beside what grows with the call

int64_t aligned(int64_t bytes) {
  return (bytes + fused_alignment - 1) / fused_alignment * fused_alignment;
}

bool fits(const TensorView& view, core::DType type) {
  return view.dtype == type && view.row_stride % whole_elements == 0;
}

template <class Args>
bool shape_is_fused(const Args& args, std::initializer_list<const TensorView*> elements) {
  const auto type = args.q.dtype;
  return (type == core::DType::bf16 || type == core::DType::f16) && args.part == AttentionPart::diagonal &&
         (args.pieces == 1 || args.samples == 1) && args.head_dim > 0 && args.head_dim <= widest_head &&
         args.head_dim % whole_elements == 0 && args.samples > 0 && args.positions > 0 && args.heads > 0 &&
         args.kv_heads > 0 &&
         std::ranges::all_of(elements, [&](const TensorView* view) { return fits(*view, type); });
}

template <class Args>
FusedAttentionKey common_key(const Args& args, Direction direction) {
  FusedAttentionKey key;
  key.type = args.q.dtype;
  key.direction = direction;
  key.samples = args.samples;
  key.positions = args.positions;
  key.heads = args.heads;
  key.kv_heads = args.kv_heads;
  key.head_dim = args.head_dim;
  key.stride_q = args.q.row_stride;
  key.stride_k = args.k.row_stride;
  key.stride_v = args.v.row_stride;
  key.stride_out = args.out.row_stride;
  key.stride_lse = args.lse.row_stride;
  return key;
}

int64_t largest_divisor(int64_t of, int64_t most) {
  auto divisor = std::min(of, most);
  while (divisor > 1 && of % divisor != 0) --divisor;
  return divisor;
}

/// What backward keeps of one key/value head: the scores' gradients, and where several query heads share it,
/// the gradients of keys and values of each of them.
int64_t kept_bytes(const FusedAttentionKey& key) {
  const auto columns = key.positions + (key.group() > 1 ? 2 * key.head_dim : 0);
  return key.group() * key.positions * columns * element_bytes;
}

}  // namespace

std::optional<FusedAttentionKey> fused_key_of(const AttentionArgs& args) {
  if (!shape_is_fused(args, {&args.q, &args.k, &args.v, &args.out}) || args.write == Write::accumulate)
    return std::nullopt;
  auto key = common_key(args, Direction::forward);
  key.portion_samples = key.samples;
  key.portion_kv_heads = key.kv_heads;
  return key;
}

std::optional<FusedAttentionKey> fused_key_of(const AttentionBackwardArgs& args, int64_t portion_bytes) {
  if (!shape_is_fused(args,
                      {&args.q, &args.k, &args.v, &args.out, &args.dout, &args.dq, &args.dk, &args.dv}) ||
      args.write_q == Write::accumulate || args.write_kv == Write::accumulate ||
      args.positions % whole_positions != 0)
    return std::nullopt;
  auto key = common_key(args, Direction::inverse);
  key.stride_dout = args.dout.row_stride;
  key.stride_dq = args.dq.row_stride;
  key.stride_dk = args.dk.row_stride;
  key.stride_dv = args.dv.row_stride;
  const auto heads = portion_bytes / kept_bytes(key);
  if (heads == 0) return std::nullopt;
  key.portion_kv_heads = largest_divisor(key.kv_heads, heads);
  key.portion_samples = heads < key.kv_heads ? 1 : largest_divisor(key.samples, heads / key.kv_heads);
  return key;
}

int64_t fused_library_bytes(const FusedAttentionKey& key) {
  if (key.direction == Direction::forward) return library_needs;
  return key.portion_samples * key.portion_kv_heads * kept_bytes(key) + library_needs;
}

int64_t fused_row_sum_bytes(const FusedAttentionKey& key) {
  if (key.direction == Direction::forward) return 0;
  return aligned(key.portion_samples * key.portion_heads() * key.positions * core::size_of(core::DType::f32));
}

int64_t fused_workspace_bytes(const FusedAttentionKey& key) {
  return fused_alignment + fused_row_sum_bytes(key) + fused_library_bytes(key);
}

std::string text_of(const FusedAttentionKey& key) {
  auto text = core::format("{} {} {}x{} heads {}/{}x{} strides {} {} {} {} {}",
                           key.direction == Direction::forward ? "forward" : "backward", core::name(key.type),
                           key.samples, key.positions, key.heads, key.kv_heads, key.head_dim, key.stride_q,
                           key.stride_k, key.stride_v, key.stride_out, key.stride_lse);
  if (key.direction == Direction::inverse)
    text += core::format(" {} {} {} {}", key.stride_dout, key.stride_dq, key.stride_dk, key.stride_dv);
  return text;
}

}  // namespace galvatron::kernels::cuda
