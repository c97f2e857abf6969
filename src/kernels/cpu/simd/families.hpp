#pragma once
// What the files of one level offer each other: each family puts its functions into the table.

#include "kernels/cpu/simd/simd.hpp"

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {

void add_elementwise(Simd& table);
void add_activation(Simd& table);
void add_norm(Simd& table);
void add_softmax(Simd& table);
void add_attention(Simd& table);
void add_attention_backward(Simd& table);

/// This level's complete table.
const Simd& table();

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
