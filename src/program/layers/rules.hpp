#pragma once
// Divisibility rules that layer kinds share, worded once.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace galvatron::program {

/// Nothing when `degree` divides `extent`; else a reason with both names, both numbers and the degrees that
/// do.
std::optional<std::string> must_divide(std::string_view extent_name, int64_t extent,
                                       std::string_view degree_name, int64_t degree);

/// "1, 2, 4, 8".
std::string divisors_text(int64_t n);

}  // namespace galvatron::program
