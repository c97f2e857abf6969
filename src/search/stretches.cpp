// A stretch is the one without its last layer and a kind more: numbers are given in order of length.
#include "search/stretches.hpp"

#include <algorithm>
#include <map>

namespace galvatron::search {

Stretches::Stretches(const std::vector<int64_t>& kinds, int64_t longest)
    : layers_(static_cast<int64_t>(kinds.size())), ids_(kinds.size() * kinds.size(), -1) {
  for (int64_t length = 1; length <= std::min(longest, layers_); ++length) {
    std::map<std::pair<int32_t, int64_t>, int32_t> known;
    for (int64_t first = 0; first + length <= layers_; ++first) {
      const int64_t last = first + length - 1;
      const int64_t kind = kinds[static_cast<size_t>(last)];
      const int32_t shorter = length == 1 ? -1 : of(first, last - 1);
      const auto [found, fresh] = known.try_emplace({shorter, kind}, static_cast<int32_t>(all_.size()));
      if (fresh)
        all_.push_back({kinds[static_cast<size_t>(first)], kind, length,
                        length == 1 ? -1 : of(first + 1, last), shorter});
      ids_[static_cast<size_t>(first * layers_ + last)] = found->second;
    }
  }
}

}  // namespace galvatron::search
