#pragma once
// A lower bound on the step of every plan of a task that fits into memory, from the prices of its choices
// alone: layouts and what it takes to change them are left out, so it costs nothing beside the prices.

#include <vector>

#include "search/stretches.hpp"
#include "search/task_prices.hpp"

namespace galvatron::search {

class PriceBound {
 public:
  /// `memory_bytes` of a rank's layers: without the reserve. The prices must outlive it.
  PriceBound(const TaskPrices& prices, const TieLevel& tie, int64_t memory_bytes);

  /// Nanoseconds; `unreachable` when nothing fits.
  int64_t bound() const;

 private:
  /// One choice of a kind, for a range of micro-batches in flight: bytes at the fewest, times at the most.
  struct Item {
    double alone = 0;  ///< bytes that it takes besides those that add up
    double persistent = 0, saved = 0;
    double time = 0, forward = 0;
    double micros = 0;  ///< time without what is done once per step
  };
  /// Stages with about as many micro-batches in flight.
  struct Table {
    int64_t fewest = 1, most = 1;
    std::vector<double> whole, late, drained;  ///< per stretch: least nanoseconds of the works
  };
  /// late: without the first forwards; drained: nor with what is done once per step.
  enum class Work : uint8_t { whole, late, drained };
  struct Kind {
    std::vector<Item> items;  ///< by what they take alone
    double forward = 0, backward = 0;
  };

  std::vector<double> before(double Kind::*part) const;
  bool collect(const TieLevel& tie);
  void keep_better(std::vector<Item>& items) const;
  void pick_multipliers();
  void pick_levels();
  void pick_stretches();
  void make_tables();
  void fill(Table& table) const;
  void fill(const Table& table, double multiplier, Work work, std::vector<double>& best) const;
  std::vector<double> messages_before() const;

  const TaskPrices& prices_;
  const std::vector<int64_t>& kinds_of_;  ///< of every layer
  int64_t stages_, micros_;
  double budget_;
  std::vector<double> fastest_;  ///< time of the layers before each one
  int64_t longest_ = 0;
  Stretches stretches_;  ///< as long as stages need to be, and a little longer
  bool possible_ = false;
  std::vector<Kind> kinds_;
  std::vector<double> multipliers_;  ///< nanoseconds per byte
  std::vector<double> levels_;       ///< of what choices take alone, ascending
  std::vector<Table> tables_;
  std::vector<size_t> table_of_;  ///< per stage
};

}  // namespace galvatron::search
