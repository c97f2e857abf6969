#pragma once
// Labels of a relaxation: partial paths, layer by layer and layout by layout, that may still become a path
// within the budget that takes less than a limit. None is cut that could.

#include "search/relaxation.hpp"

namespace galvatron::search {

class Labels {
 public:
  /// After the relaxation's `bound`, and no longer than it lives. Paths of at least `limit` are cut.
  Labels(const Relaxation& relaxation, int64_t limit);

  /// The path of least time, ways at their exact prices; nothing when there is none. Beyond so many labels
  /// nothing either, and `complete` is false.
  std::optional<Walk> best(int64_t label_limit, bool& complete);
  int64_t made() const { return made_; }
  int64_t cut() const { return cut_; }

 private:
  struct Label {
    int64_t bytes = 0, time = 0;
    int32_t parent = -1, pick = 0;
  };
  /// Bytes ascend, times descend.
  using Front = std::vector<Label>;
  /// The fronts of one layer's layouts, one after the other.
  struct Row {
    Front labels;
    std::vector<size_t> begins;  ///< per layout, and the end
  };

  bool extend(size_t layer);
  void arrive(size_t layer, size_t live);
  void come_from(size_t layer, size_t live, size_t before);
  void pick(size_t layer, size_t live);
  Front& next_list();
  void merge_lists(Front& out);
  void merge(const Front& a, const Front& b, Front& out);
  std::optional<Walk> backtrack() const;

  const Relaxation& r_;
  int64_t limit_;
  double most_value_;  ///< labels above it are cut
  double budget_;
  int64_t label_limit_ = 0;
  int64_t made_ = 0, cut_ = 0;
  std::vector<Row> rows_;
  Front arrivals_, spare_;
  std::vector<Front> lists_;  ///< to be merged; more than are in use, for their storage
  size_t used_ = 0;
};

}  // namespace galvatron::search
