// The outer loop: tasks in the order of Galvatron 3.0, opened in the order of their bounds. Only what cannot
// be better than the best known is left out, so the answer is that of trying everything in turn.
#include "search/galvatron3/search.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "search/galvatron3/task.hpp"

namespace galvatron::search::galvatron3 {
namespace {

/// A candidate of a task, with its place in Galvatron's order.
struct Offer {
  const Task* task = nullptr;
  int64_t candidate = 0;
  int64_t place = 0;
  int64_t batch = 0;
  double least_seconds = 0;
  double throughput_at_most() const { return static_cast<double>(batch) / least_seconds; }
};

/// Bounds and prices are sums in another order; they may differ in the last digits.
constexpr double rounding = 1e-12;

/// Owns prices and tasks; both stay where they are.
class Loop {
 public:
  Loop(const Rules& rules, const SearchOptions& options)
      : rules_(rules),
        options_(options),
        layers_(layer_strategies(options.space)),
        vocabs_(vocab_strategies(layers_)) {}

  Outcome run() {
    for (const auto batch : options_.batches)
      for (int64_t chunks = 1; chunks <= batch; ++chunks)
        if (batch % chunks == 0 && (options_.chunks == 0 || chunks == options_.chunks))
          add_step({batch, chunks});
    open();
    if (!outcome_.best) find_nearest_miss();
    return outcome_;
  }

 private:
  void add_step(const Step& step) {
    std::set<int64_t> degrees;
    for (const auto& vocab : vocabs_) degrees.insert(vocab.pp);
    for (const auto stages : degrees)
      if (stages <= step.chunks && stages <= rules_.model().layers) add_stages(step, stages);
  }

  void add_stages(const Step& step, int64_t stages) {
    const int64_t ranks = options_.space.world / stages;
    const int64_t widest = std::min(ranks, options_.space.max_tp);
    const int64_t max_dp = std::max<int64_t>(1, std::min(step.batch / step.chunks, ranks));
    const int64_t narrowest = std::max<int64_t>(1, ranks / max_dp);
    prices_.push_back(prices_of(rules_, step, stages, max_dp, layers_, vocabs_));
    for (const auto mode : {Mode::tp_only, Mode::sp_only, Mode::tp_with_sp}) {
      if (mode == Mode::sp_only) {
        add_task(mode, widest);
        continue;
      }
      for (int64_t width = 1; width <= widest && width * stages <= options_.space.world; width *= 2)
        if (width >= narrowest) add_task(mode, width);
    }
  }

  void add_task(Mode mode, int64_t width) {
    const auto& task = tasks_.emplace_back(rules_, options_, prices_.back(), mode, width);
    ++outcome_.statistics.tasks;
    for (int64_t i = 0; i < task.candidates(); ++i) {
      ++outcome_.statistics.candidates;
      const double bound = task.bound(i);
      if (std::isfinite(bound))
        offers_.push_back({&task, i, outcome_.statistics.candidates, prices_.back().step.batch, bound});
    }
  }

  void open() {
    std::stable_sort(offers_.begin(), offers_.end(), [](const Offer& a, const Offer& b) {
      return a.throughput_at_most() > b.throughput_at_most();
    });
    for (const auto& offer : offers_) {
      const auto& best = outcome_.best;
      if (best && offer.throughput_at_most() * (1 + rounding) < best->throughput()) break;
      ++outcome_.statistics.opened;
      if (options_.grain == Grain::uniform) {
        take(offer.task->uniform(offer.candidate), offer.place);
        continue;
      }
      for (const auto objective : options_.objectives)
        take(offer.task->solve(offer.candidate, objective, outcome_.statistics.paths), offer.place);
    }
  }

  void find_nearest_miss() {
    for (const auto& task : tasks_)
      for (int64_t i = 0; i < task.candidates(); ++i) {
        const auto miss = task.miss(i);
        if (miss && (!outcome_.miss || miss->short_mb < outcome_.miss->short_mb)) outcome_.miss = miss;
      }
  }

  void take(std::optional<Found> found, int64_t place) {
    if (!found) return;
    auto& best = outcome_.best;
    const bool better = !best || found->throughput() > best->throughput() ||
                        (found->throughput() == best->throughput() && place < place_);
    if (!better) return;
    best = std::move(found);
    place_ = place;
  }

  const Rules& rules_;
  const SearchOptions& options_;
  std::vector<Strategy> layers_, vocabs_;
  std::deque<Prices> prices_;
  std::deque<Task> tasks_;
  std::vector<Offer> offers_;
  Outcome outcome_;
  int64_t place_ = 0;  ///< of the best
};

}  // namespace

Outcome search(const Rules& rules, const SearchOptions& options) {
  return Loop(rules, options).run();
}

const char* name_of(Mode mode) {
  switch (mode) {
    case Mode::tp_only:
      return "tp_only";
    case Mode::sp_only:
      return "sp_only";
    case Mode::tp_with_sp:
      return "tp_with_sp";
  }
  return "";
}

}  // namespace galvatron::search::galvatron3
