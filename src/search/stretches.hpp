#pragma once
// Stretches of layers by what they are made of: models repeat themselves, so a stage that holds layers 3 … 12
// is often the same as one that holds 5 … 14, and whatever is known of one is known of the other.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace galvatron::search {

/// Every distinct sequence of kinds that occurs, once; longer ones after shorter ones.
class Stretches {
 public:
  struct Stretch {
    int64_t kind_first = 0, kind_last = 0;
    int64_t length = 0;
    int32_t without_first = -1, without_last = -1;  ///< −1 for a single layer
  };

  /// `kinds`: of every layer. Stretches longer than `longest` are left out.
  Stretches(const std::vector<int64_t>& kinds, int64_t longest);

  /// Number of the stretch of these layers; −1 when it is too long.
  int32_t of(int64_t first, int64_t last) const { return ids_[static_cast<size_t>(first * layers_ + last)]; }
  const std::vector<Stretch>& all() const { return all_; }

 private:
  int64_t layers_;
  std::vector<int32_t> ids_;
  std::vector<Stretch> all_;
};

}  // namespace galvatron::search
