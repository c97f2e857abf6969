#pragma once
// What the layers of a task cost under every strategy, wherever a stage may lie: lowered and priced once,
// then turned into the options of a stage with so many micro-batches in flight.

#include "search/task.hpp"

namespace galvatron::search {

/// One strategy of one layer kind. Times in nanoseconds per step.
struct PricedChoice {
  int32_t choice = 0, layout = 0;
  int64_t time = 0;
  int64_t forward = 0, backward = 0;  ///< of one micro-batch
  int64_t persistent = 0, saved = 0;  ///< saved: per micro-batch in flight
  ScratchBytes scratch{};
};

/// A tied embedding and head share tp and ZeRO level; a model without a tie has one level, which allows all.
struct TieLevel {
  int32_t tp = 0, zero = 0;  ///< tp 0: any
  bool allows(const spec::LayerStrategy& strategy) const {
    return tp == 0 || (strategy.tp == tp && strategy.zero == zero);
  }
};

class TaskPrices {
 public:
  TaskPrices(const SearchContext& context, const Task& task);

  const SearchContext& context() const { return context_; }
  const Task& task() const { return task_; }
  int32_t layouts() const { return static_cast<int32_t>(task_.pool->layouts.size()); }

  /// Pipeline ranks that lie alike share their prices.
  size_t place_of(int64_t pipeline_rank) const { return place_of_[static_cast<size_t>(pipeline_rank)]; }
  /// One of each kind of place.
  std::vector<size_t> places() const;
  const std::vector<PricedChoice>& choices(size_t place, int64_t kind) const {
    return places_[place].choices[static_cast<size_t>(kind)];
  }
  Ways& ways(size_t place);

  /// Options of a kind on a pipeline rank at the place; covered ones are left out.
  std::vector<Option> options(size_t place, int64_t kind, int64_t slots, const TieLevel& level) const;
  std::vector<TieLevel> levels() const;
  bool allows(const TieLevel& level, int64_t kind, int32_t choice) const;
  const spec::LayerStrategy& strategy(int64_t kind, int32_t choice) const {
    return task_.pool->choices[static_cast<size_t>(kind)][static_cast<size_t>(choice)];
  }

  /// One activation on the stage's fullest rank; the two buffers of a boundary that it crosses.
  int64_t activation_bytes(int32_t layout) const { return activation_[static_cast<size_t>(layout)]; }
  int64_t boundary_bytes(int32_t layout) const { return boundary_[static_cast<size_t>(layout)]; }
  /// Of all micro-batches' messages in one direction from a pipeline rank to the next one, per step.
  /// The rank after the last one is the first.
  int64_t message_time(int64_t from, int32_t layout) const {
    return messages_[static_cast<size_t>(from) * activation_.size() + static_cast<size_t>(layout)];
  }

 private:
  struct Place {
    int64_t first_rank = 0;                          ///< canonical
    std::vector<std::vector<PricedChoice>> choices;  ///< per kind
    std::optional<Ways> ways;                        ///< once they are asked for: bounds do without
  };
  void price_messages();
  void find_places();
  void price(Place& place);
  void make_ways(Place& place);
  PricedChoice price_choice(const Place& place, int64_t kind, int32_t choice);
  program::TransitionContext transition(int32_t from, int32_t to) const;

  const SearchContext& context_;
  Task task_;
  std::vector<size_t> place_of_;
  std::vector<Place> places_;
  std::vector<int64_t> activation_, boundary_;  ///< by layout
  std::vector<int64_t> messages_;               ///< from each pipeline rank to the next one, by layout
};

}  // namespace galvatron::search
