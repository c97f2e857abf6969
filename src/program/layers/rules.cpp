// Divisibility rules that layer kinds share, worded once.

#include "program/layers/rules.hpp"

#include "core/format.hpp"

namespace galvatron::program {

std::string divisors_text(int64_t n) {
  std::vector<std::string> divisors;
  for (int64_t d = 1; d <= n; ++d)
    if (n % d == 0) divisors.push_back(std::to_string(d));
  return core::join(divisors, ", ");
}

std::optional<std::string> must_divide(std::string_view extent_name, int64_t extent,
                                       std::string_view degree_name, int64_t degree) {
  if (extent % degree == 0) return std::nullopt;
  return core::format("{} = {} does not divide {} = {} (legal: {})", degree_name, degree, extent_name, extent,
                      divisors_text(extent));
}

}  // namespace galvatron::program
