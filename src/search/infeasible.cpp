// Nothing fits: which plan comes nearest, what fills its fullest stage, and which single change would help.
// Every change is tried, none is guessed.
#include <algorithm>
#include <set>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "search/deal.hpp"
#include "search/tasks.hpp"

namespace galvatron::search {
namespace {

/// The task that needs the least memory, and how much that is.
struct Nearest {
  size_t task = 0;
  int64_t bytes = unreachable;
};

Nearest nearest_of(const SearchContext& context, const std::vector<Task>& tasks, core::WorkQueue& queue) {
  const auto answers = deal(queue, tasks.size(), [&](size_t i) {
    const auto smallest = TaskSolver(context, tasks[i], 0).smallest();
    return core::format("{}", smallest ? smallest->memory_bytes : unreachable);
  });
  Nearest nearest;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const int64_t bytes = numbers_of(answers[i]).at(0);
    if (bytes < nearest.bytes) nearest = {i, bytes};
  }
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
    cost::LayerPricer pricer(context_.profile, cluster, workspace_, options.overlap);
    const SearchContext context{context_.model,   context_.kinds, options,
                                context_.profile, pricer,         context_.fingerprint};
    Space space = make_space(context_.model, context_.kinds, cluster, options);
    const auto tasks = make_tasks(space, context.model.size(), options);
    return !tasks.empty() && nearest_of(context, tasks, queue_).bytes <= cluster.memory_bytes;
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
                              const std::vector<Task>& tasks, const program::WorkspaceRule& workspace,
                              core::WorkQueue& queue) {
  const Nearest nearest = nearest_of(context, tasks, queue);
  GALV_ASSERT(nearest.bytes != unreachable, tasks.size());
  Infeasible result;
  result.nearest = *TaskSolver(context, tasks[nearest.task], 0).smallest();
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
