#pragma once
// Element types, known at run time.

#include <cstdint>
#include <string_view>

namespace galvatron::core {

enum class DType { f32, f64, bf16, f16, i32, i64, u8 };

/// Bytes of one element.
int64_t size_of(DType dtype);

/// The type in which sums over elements of this floating type are kept: f64 for f64, else f32. Throws
/// InternalError for the integers.
DType accumulator_of(DType dtype);

/// "f32", "bf16", ….
std::string_view name(DType dtype);

}  // namespace galvatron::core
