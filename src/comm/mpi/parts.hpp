#pragma once
// Who owns which range of a buffer. Reductions go to owners, gathers come from them; the forms of a
// collective differ in who owns what.

#include <cstdint>
#include <span>
#include <vector>

namespace galvatron::comm::mpi {

/// Member i owns elements begins[i] … begins[i + 1] − 1; ranges may be empty. Looks at memory of the caller.
struct Parts {
  std::span<const int64_t> begins;

  int64_t members() const { return static_cast<int64_t>(begins.size()) - 1; }
  int64_t begin(int64_t i) const { return begins[static_cast<size_t>(i)]; }
  int64_t count(int64_t i) const { return begin(i + 1) - begin(i); }
  int64_t elements() const { return begins.back() - begins.front(); }
  int64_t longest() const {
    int64_t longest = 0;
    for (int64_t i = 0; i < members(); ++i)
      if (count(i) > longest) longest = count(i);
    return longest;
  }
};

/// `elements` cut as evenly as possible among the first `owners` of `members`, written into `begins`.
inline Parts even_parts(int64_t elements, int64_t owners, int64_t members, std::vector<int64_t>& begins) {
  begins.clear();
  for (int64_t i = 0; i <= members; ++i) begins.push_back(elements * (i < owners ? i : owners) / owners);
  return {begins};
}

/// The same ranges counted in units `factor` times smaller, written into `begins`.
inline Parts scaled_parts(const Parts& parts, int64_t factor, std::vector<int64_t>& begins) {
  begins.clear();
  for (const auto begin : parts.begins) begins.push_back(begin * factor);
  return {begins};
}

}  // namespace galvatron::comm::mpi
