// Nothing fits: which plan comes nearest, what fills its fullest stage, and which single change would help.
// Every change is tried, none is guessed.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "search/deal.hpp"
#include "search/tasks.hpp"

namespace galvatron::search {
namespace {

/// Tasks solved between two looks at the best so far, the same for any number of workers.
constexpr size_t round_size = 8;
/// Tasks that are looked at for the nearest miss, and for each change. A search on thousands of ranks has
/// thousands of them; those that should need the least come first.
constexpr size_t most_for_miss = 48, most_for_change = 16;

/// The task that needs the least memory, and how much that is.
struct Nearest {
  size_t task = 0;
  int64_t bytes = unreachable;
  int64_t tried = 0;
  bool proven = true;  ///< no other task needs less
};

/// A task's bytes: no fewer than the first, about as many as the second.
struct Likely {
  size_t task = 0;
  int64_t bound = 0;
  double guess = 0;
};

/// What the inputs of a rank's layers take: the least that backward needs, in as many slots as a lane has
/// micro-batches in flight.
double guess_inputs(const SearchContext& context, const Task& task) {
  const auto stages = static_cast<double>(task.pool->stages), micros = static_cast<double>(task.micros);
  const double positions = static_cast<double>(task.batch * context.model.seq);
  const double width =
      static_cast<double>(context.model.layers.front().dims.hidden * core::size_of(context.options.dtype));
  const auto ranks = static_cast<double>(task.pool->ranks) * stages;
  return positions * width * static_cast<double>(context.model.size()) / ranks * std::min(stages, micros) /
         micros;
}

/// Those that should need the least first.
std::vector<Likely> likely_order(const SearchContext& context, const std::vector<Task>& tasks,
                                 core::WorkQueue& queue) {
  const auto bounds =
      deal(queue, tasks.size(), [&](size_t i) { return core::format("{}", least_bytes(context, tasks[i])); });
  std::vector<Likely> order;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const int64_t bound = numbers_of(bounds[i]).at(0);
    order.push_back({i, bound, static_cast<double>(bound) + guess_inputs(context, tasks[i])});
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Likely& a, const Likely& b) { return a.guess < b.guess; });
  return order;
}

/// Of strategies that differ in ZeRO level and recomputation alone, the one that shards and frees most.
Pool lean(const SearchContext& context, const Pool& pool) {
  Pool out = pool;
  for (size_t kind = 0; kind < pool.choices.size(); ++kind) {
    // The ends of a tied table agree on a level, which may have to be a low one.
    const auto& name = context.kinds.specs[kind].kind;
    if (context.model.tied() && (name == "embedding" || name == "head")) continue;
    out.choices[kind].clear();
    out.layout_of[kind].clear();
    for (size_t i = 0; i < pool.choices[kind].size(); ++i) {
      const auto& s = pool.choices[kind][i];
      const auto rivals = [&](const spec::LayerStrategy& other) {
        return std::tie(other.tp, other.sp, other.cp, other.dp) == std::tie(s.tp, s.sp, s.cp, s.dp) &&
               std::tie(other.zero, other.recompute) > std::tie(s.zero, s.recompute);
      };
      if (std::any_of(pool.choices[kind].begin(), pool.choices[kind].end(), rivals)) continue;
      out.choices[kind].push_back(s);
      out.layout_of[kind].push_back(pool.layout_of[kind][i]);
    }
  }
  return out;
}

/// Tasks on lean pools, which live in `pools`: a search that is too large to be looked at whole.
std::vector<Task> lean_tasks(const SearchContext& context, const std::vector<Task>& tasks,
                             std::map<const Pool*, Pool>& pools) {
  auto out = tasks;
  for (Task& task : out) {
    const auto found = pools.find(task.pool);
    task.pool =
        &(found != pools.end() ? found : pools.emplace(task.pool, lean(context, *task.pool)).first)->second;
  }
  return out;
}

/// Looks at up to `most` tasks that may need less than the best so far, until one needs at most `enough`.
Nearest nearest_of(const SearchContext& context, const std::vector<Task>& tasks, core::WorkQueue& queue,
                   int64_t enough, size_t most) {
  const auto order = likely_order(context, tasks, queue);
  Nearest nearest;
  std::vector<size_t> round;
  const auto look = [&] {
    const auto answers = deal(queue, round.size(), [&](size_t i) {
      const auto smallest = TaskSolver(context, tasks[round[i]], 0).smallest();
      return core::format("{}", smallest ? smallest->memory_bytes : unreachable);
    });
    for (size_t i = 0; i < round.size(); ++i) {
      const int64_t bytes = numbers_of(answers[i]).at(0);
      if (bytes < nearest.bytes) {
        nearest.task = round[i];
        nearest.bytes = bytes;
      }
    }
    nearest.tried += static_cast<int64_t>(round.size());
    round.clear();
  };
  for (const Likely& likely : order) {
    if (nearest.bytes <= enough) return nearest;
    if (likely.bound >= nearest.bytes || (enough > 0 && likely.bound > enough)) continue;
    if (static_cast<size_t>(nearest.tried) + round.size() == most) {
      nearest.proven = false;
      break;
    }
    round.push_back(likely.task);
    if (round.size() == round_size) look();
  }
  if (!round.empty()) look();
  return nearest;
}

class Explainer {
 public:
  Explainer(const SearchContext& context, const spec::ClusterSpec& cluster,
            const program::WorkspaceRule& workspace, core::WorkQueue& queue)
      : context_(context), cluster_(cluster), workspace_(workspace), queue_(queue) {}

  std::vector<Change> changes() {
    smaller_batch();
    more_choices();
    more_ranks();
    return std::move(changes_);
  }

 private:
  /// Whether some plan fits with these options on this cluster.
  bool fits(const SearchOptions& options, const spec::ClusterSpec& cluster) {
    cost::LayerPricer fresh(context_.profile, cluster, workspace_, options.overlap);
    auto& pricer = cluster.ranks() == cluster_.ranks() ? context_.pricer : fresh;
    const SearchContext context{context_.model,   context_.kinds, options,
                                context_.profile, pricer,         context_.fingerprint};
    Space space = make_space(context_.model, context_.kinds, cluster, options);
    auto tasks = make_tasks(space, context.model.size(), cluster, options);
    std::map<const Pool*, Pool> pools;
    if (tasks.size() > most_for_miss) tasks = lean_tasks(context, tasks, pools);
    const int64_t enough = cluster.memory_bytes;
    return !tasks.empty() && nearest_of(context, tasks, queue_, enough, most_for_change).bytes <= enough;
  }

  void attempt(const std::string& what, const SearchOptions& options, const spec::ClusterSpec& cluster) {
    changes_.push_back({what, fits(options, cluster)});
  }

  void smaller_batch() {
    SearchOptions options = context_.options;
    const int64_t smallest = *std::min_element(options.batches.begin(), options.batches.end());
    for (int64_t batch = smallest / 2; batch >= 1; batch /= 2) {
      options.batches = {batch};
      attempt(core::format("a batch of {} samples (search.batch)", batch), options, cluster_);
      if (changes_.back().fits) return;
    }
  }

  void more_choices() {
    SearchOptions options = context_.options;
    if (std::set<int32_t>(options.zero.begin(), options.zero.end()).size() < 4) {
      options.zero = {0, 1, 2, 3};
      attempt("all ZeRO levels (search.zero)", options, cluster_);
    }
    options = context_.options;
    if (options.recompute.size() < 2) {
      options.recompute = {spec::Recompute::none, spec::Recompute::full};
      attempt("recompute (search.recompute)", options, cluster_);
    }
    options = context_.options;
    if (options.max_tp > 0 || options.max_pp > 0) {
      options.max_tp = options.max_pp = 0;
      attempt("any tp and pp (search.max_tp, search.max_pp)", options, cluster_);
    }
    options = context_.options;
    if (options.max_sp > 0 || options.max_cp > 0 || options.axes.size() < SearchOptions().axes.size()) {
      options.max_sp = options.max_cp = 0;
      options.axes = SearchOptions().axes;
      attempt("every axis at any degree (search.axes, search.max_sp, search.max_cp)", options, cluster_);
    }
  }

  void more_ranks() {
    for (const int64_t times : {2, 4}) {
      spec::ClusterSpec cluster = cluster_;
      // Memory alone is asked for: where the new ranks are does not matter, so they join the same nodes.
      cluster.ranks_per_node *= times;
      attempt(core::format("{} ranks instead of {}", cluster.ranks(), cluster_.ranks()), context_.options,
              cluster);
      if (changes_.back().fits) return;
    }
  }

  const SearchContext& context_;
  const spec::ClusterSpec& cluster_;
  const program::WorkspaceRule& workspace_;
  core::WorkQueue& queue_;
  std::vector<Change> changes_;
};

}  // namespace

Infeasible explain_infeasible(const SearchContext& context, const spec::ClusterSpec& cluster,
                              const std::vector<Task>& all, const program::WorkspaceRule& workspace,
                              core::WorkQueue& queue) {
  std::map<const Pool*, Pool> pools;
  const bool many = all.size() > most_for_miss;
  const auto tasks = many ? lean_tasks(context, all, pools) : all;
  const Nearest nearest = nearest_of(context, tasks, queue, 0, most_for_miss);
  GALV_ASSERT(nearest.bytes != unreachable, tasks.size());
  Infeasible result;
  result.nearest = *TaskSolver(context, tasks[nearest.task], 0).smallest();
  result.tasks = static_cast<int64_t>(tasks.size());
  result.tried = nearest.tried;
  result.proven = nearest.proven && !many;
  result.memory_bytes = cluster.memory_bytes;
  result.short_bytes = nearest.bytes - cluster.memory_bytes;
  const auto& stages = result.nearest.plan.predictions;
  result.stage =
      std::max_element(stages.begin(), stages.end(),
                       [](const auto& a, const auto& b) { return a.memory_bytes < b.memory_bytes; }) -
      stages.begin();
  result.changes = Explainer(context, cluster, workspace, queue).changes();
  return result;
}

}  // namespace galvatron::search
