#pragma once
// Which (stage, first, last) can be part of a split within a limit, whatever the layouts: from the least sums
// and the least maxima of all stages before and after.

#include <algorithm>

#include "search/split.hpp"

namespace galvatron::search {

class SplitWindow {
 public:
  SplitWindow(const SplitProblem& problem, const StageValues& values);

  /// Leaves out triples of which every split is worth more than `limit`.
  void narrow(int64_t limit);
  /// First layers that are left, ascending.
  const std::vector<int64_t>& firsts(int64_t stage, int64_t last) const {
    return firsts_[index(stage, last)];
  }
  /// The least worth of a split whose stages up to this one have such a sum and such a largest value.
  int64_t completed(int64_t stage, int64_t last, int64_t sum, int64_t largest) const;

 private:
  /// Least sum and least maximum over all ways to split some layers.
  struct Least {
    int64_t sum = 0, largest = 0;
  };
  size_t index(int64_t stage, int64_t layer) const { return static_cast<size_t>(stage * layers_ + layer); }
  int64_t& triple(int64_t stage, int64_t first, int64_t last) {
    return triples_[index(stage, first) * static_cast<size_t>(longest_) + static_cast<size_t>(last - first)];
  }
  int64_t worth(const Least& before, int64_t value, const Least& after) const;

  int64_t end_of(int64_t first) const { return std::min(layers_, first + longest_); }

  int64_t stages_, layers_, micros_, longest_;
  std::vector<int64_t> triples_;
  std::vector<Least> heads_;  ///< stages 0 … stage, up to the layer
  std::vector<Least> tails_;  ///< stages from `stage` on, from the layer on
  std::vector<std::vector<int64_t>> firsts_;
};

}  // namespace galvatron::search
