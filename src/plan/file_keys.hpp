#pragma once
// What the reader and the writer of plan files must agree on.

#include <cstdint>
#include <string_view>

#include "spec/strategy.hpp"

namespace galvatron::plan {

inline constexpr int64_t plan_file_version = 1;
/// More than any machine or model has; both keep arithmetic on hostile files inside 64 bits.
inline constexpr int64_t largest_count = int64_t{1} << 30;
inline constexpr int64_t largest_degree = int64_t{1} << 15;

std::string_view recompute_text(spec::Recompute recompute);

}  // namespace galvatron::plan
