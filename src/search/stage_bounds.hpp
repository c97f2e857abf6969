#pragma once
// Lower bounds on the time of every stretch of layers as a stage, by the layout that comes in and the one
// that leaves: Lagrangian values of all stretches at once, each from the one that is a layer shorter.

#include <cstdint>
#include <vector>

#include "search/path.hpp"
#include "search/stretches.hpp"

namespace galvatron::search {

class StageBounds {
 public:
  /// `options` per kind; `budget` that no stage of the table exceeds. All references must outlive it.
  StageBounds(const Stretches& stretches, const std::vector<std::vector<Option>>& options, const Ways& ways,
              int64_t budget);

  /// Makes the bounds of all stretches of at most so many layers.
  void fill(int64_t longest);
  int64_t longest() const { return longest_; }

  /// Nanoseconds per step; `unreachable` when nothing fits.
  int64_t leaving(int32_t stretch, int32_t layout) const { return leaving_[index(stretch, layout)]; }
  int64_t entering(int32_t stretch, int32_t layout) const { return entering_[index(stretch, layout)]; }
  int64_t least(int32_t stretch) const { return least_[static_cast<size_t>(stretch)]; }

 private:
  /// Scratch between two levels: options that take more are left out, the lower level is charged.
  struct Level {
    int64_t from = 0, below = unreachable;
  };
  struct Multiplier {
    double by_time = 1, by_bytes = 0;
  };
  using Values = std::vector<double>;

  size_t index(int32_t stretch, int32_t layout) const {
    return static_cast<size_t>(stretch) * static_cast<size_t>(layouts_) + static_cast<size_t>(layout);
  }
  bool is_roomy() const;
  void pick_multipliers();
  void pick_levels();
  Values leasts(const Level& level, const Multiplier& multiplier) const;
  void sweep(const Level& level, const Multiplier& multiplier, size_t end);
  void take(const Level& level, const Multiplier& multiplier, size_t end);

  const Stretches& stretches_;
  const std::vector<std::vector<Option>>& options_;
  int32_t layouts_;
  int64_t budget_;
  int64_t longest_ = 0;
  std::vector<double> ways_;
  std::vector<Multiplier> multipliers_;
  std::vector<Level> levels_;
  Values forward_, backward_;            ///< of one sweep
  Values best_leaving_, best_entering_;  ///< of one level, over multipliers
  std::vector<int64_t> leaving_, entering_, least_;
};

}  // namespace galvatron::search
