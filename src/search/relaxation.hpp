#pragma once
// A path problem with its scratch fixed between two corners: options above the upper one are left out, the
// lower one is charged to the budget. What remains is a plain constrained shortest path, for which Lagrangian
// sweeps give bounds and labels the optimum.

#include "search/path.hpp"

namespace galvatron::search {

struct ScratchBox {
  ScratchBytes floor{}, cap{};
  int64_t charged() const;
};

/// A choice for every layer, with floors for its ways.
struct Walk {
  int64_t time = 0, bytes = 0;
  std::vector<int32_t> picks;
};

class Relaxation {
 public:
  /// `dead`: layouts that are left out, by number. All references must outlive it.
  Relaxation(const PathProblem& problem, Ways& ways, const ScratchBox& box, const std::vector<char>& dead,
             PathCounts& counts);

  /// The walk of the fewest bytes; nothing when a layer has no option.
  std::optional<Walk> lightest();
  /// The largest Lagrangian bound on the time of a path within the budget; nothing when there is no path.
  std::optional<double> bound();
  /// The walks on both sides of the budget that `bound` ends with; the same when the fastest walk is within.
  const Walk& near() const { return near_; }
  const Walk& beyond() const { return beyond_; }
  /// Marks layouts that no path of less than `limit` passes through. After `bound`.
  void mark_dead(int64_t limit, std::vector<char>& dead) const;

 private:
  friend class Labels;
  struct Item {
    int64_t bytes = 0, time = 0;
    int32_t pick = 0;
  };
  struct Weights {
    double by_time = 1, by_bytes = 0;
    double of(int64_t time, int64_t bytes) const {
      return by_time * static_cast<double>(time) + by_bytes * static_cast<double>(bytes);
    }
  };
  /// Least values of the layers still to come, per layer and layout.
  struct Sweep {
    Weights weights;
    std::vector<double> inner;  ///< from this layer on, when it has the layout
    std::vector<double> rest;   ///< from this layer on, when the one before it has the layout
    double total = 0;
  };

  size_t at(size_t layer, size_t live) const { return layer * live_.size() + live; }
  void collect(const std::vector<char>& dead);
  std::vector<Item> front_of(const std::vector<Option>& options, int32_t layout) const;
  std::vector<double> leasts(const Weights& weights) const;
  Sweep sweep(const Weights& weights) const;
  Walk walk(const Sweep& sweep) const;
  double way_floor(int32_t from, int32_t to) const;
  double entrance(size_t live, const Weights& weights) const;
  bool closed(size_t layer, size_t live) const;
  double guard() const;

  const PathProblem& problem_;
  Ways& ways_;
  ScratchBox box_;
  PathCounts& counts_;
  int64_t budget_;                         ///< without the charged scratch
  std::vector<int32_t> live_;              ///< layouts that are left
  std::vector<size_t> list_of_;            ///< per layer: number of its list of options
  std::vector<std::vector<Item>> fronts_;  ///< per list and layout: bytes ascending, time descending
  std::vector<double> floors_;             ///< of ways between live layouts
  bool possible_ = true;
  Sweep tight_;  ///< at the multiplier of the bound
  Sweep light_;  ///< bytes alone
  Walk near_, beyond_;
};

}  // namespace galvatron::search
