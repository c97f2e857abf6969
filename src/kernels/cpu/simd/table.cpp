// One level's table, filled by its families.

#include "kernels/cpu/simd/families.hpp"

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {
namespace {

Simd filled() {
  Simd table{};
  table.level = GALVATRON_SIMD_NAME;
  add_elementwise(table);
  add_activation(table);
  add_norm(table);
  add_softmax(table);
  add_attention(table);
  add_attention_backward(table);
  return table;
}

}  // namespace

const Simd& table() {
  static const Simd the_table = filled();
  return the_table;
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
