#pragma once
// Rows of elements from one type to another, on some threads: where a caller asks for a copy in another
// type, and where a product's operands of 16 bits become fp32.

#include "device/tensor.hpp"
#include "kernels/cpu/simd/simd.hpp"

namespace galvatron::kernels {

/// to := from, one of them fp32, the other fp32, bf16 or fp16. Shapes are equal.
void convert(const Simd& simd, int threads, const device::TensorView& from, const device::TensorView& to);

}  // namespace galvatron::kernels
