// The search as a story: space, tasks, bounds, rounds in bound order, finalists, and beside them the plans
// that people would have written by hand.
#include "search/search.hpp"

#include <algorithm>
#include <tuple>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "search/deal.hpp"
#include "search/tasks.hpp"

namespace galvatron::search {
namespace {

/// Tasks solved between two looks at the best plans so far. The same for any number of workers, so that all
/// of them open the same tasks.
constexpr size_t round_size = 32;

/// What is known of a solved task.
struct Solved {
  size_t task = 0;
  int64_t step_ns = 0, memory_bytes = 0;
};

class Searcher {
 public:
  Searcher(const SearchContext& context, const spec::ClusterSpec& cluster,
           const program::WorkspaceRule& workspace, core::WorkQueue& queue)
      : context_(context), cluster_(cluster), workspace_(workspace), queue_(queue) {}

  SearchResult run() {
    result_.space = make_space(context_.model, context_.kinds, cluster_, context_.options);
    tasks_ = make_tasks(result_.space, context_.options);
    if (tasks_.empty())
      throw core::UserError(
          core::ExitCode::no_plan,
          core::format("no division of {} ranks is legal for this model:{}", cluster_.ranks(), cuts_text()));
    bound_tasks();
    open_tasks();
    if (solved_.empty()) {
      result_.infeasible = explain_infeasible(context_, cluster_, tasks_, workspace_, queue_);
    } else {
      rank_finalists();
      result_.restricted = restricted_plans(context_, result_.space, cluster_.memory_bytes, queue_);
    }
    return std::move(result_);
  }

 private:
  std::string cuts_text() const {
    std::string text;
    for (const Cut& cut : result_.space.cuts)
      text += core::format("\n  {} × {}: {}", cut.count, cut.level, cut.reason);
    return text;
  }

  void bound_tasks() {
    const auto answers = deal(queue_, tasks_.size(), [&](size_t i) {
      const TaskSolver solver(context_, tasks_[i], cluster_.memory_bytes);
      return core::format("{} {} {}", solver.possible() ? 1 : 0, solver.lower_bound(), solver.dominated());
    });
    std::vector<Task> kept;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const auto numbers = numbers_of(answers[i]);
      const bool possible = numbers.at(0) != 0;
      const int64_t dominated = numbers.at(2);
      if (dominated > 0)
        result_.space.cut("choices", "another strategy of the layer is better in everything", dominated);
      tasks_[i].bound = numbers.at(1);
      if (possible)
        kept.push_back(tasks_[i]);
      else
        result_.space.cut("zero", "a tied embedding and head on two stages need ZeRO 0 or 1");
    }
    tasks_ = std::move(kept);
    std::stable_sort(tasks_.begin(), tasks_.end(),
                     [](const Task& a, const Task& b) { return faster(a.bound, a.batch, b.bound, b.batch); });
    result_.statistics.tasks = static_cast<int64_t>(tasks_.size());
  }

  void open_tasks() {
    for (size_t begin = 0; begin < tasks_.size(); begin += round_size) {
      if (is_beaten(tasks_[begin])) break;
      const size_t count = std::min(round_size, tasks_.size() - begin);
      const auto answers = deal(queue_, count, [&](size_t i) { return solve(tasks_[begin + i]); });
      for (size_t i = 0; i < count; ++i) record(begin + i, answers[i]);
    }
  }

  /// Whether the task's bound is worse than the last of the plans to keep.
  bool is_beaten(const Task& task) const {
    const auto keep = static_cast<size_t>(context_.options.keep);
    if (solved_.size() < keep) return false;
    const Solved& last = solved_[keep - 1];
    return faster(last.step_ns, tasks_[last.task].batch, task.bound, task.batch);
  }

  std::string solve(const Task& task) const {
    TaskSolver solver(context_, task, cluster_.memory_bytes);
    const auto candidate = solver.solve();
    if (!candidate) return core::format("0 0 0 1 {}", solver.stage_solves());
    return core::format("1 {} {} {} {}", candidate->step_ns, candidate->memory_bytes,
                        candidate->exact ? 1 : 0, solver.stage_solves());
  }

  void record(size_t task, const std::string& answer) {
    const auto numbers = numbers_of(answer);
    ++result_.statistics.opened;
    result_.statistics.stage_solves += numbers.at(4);
    result_.statistics.exact = result_.statistics.exact && numbers.at(3) != 0;
    if (numbers.at(0) == 0) return;
    ++result_.statistics.feasible;
    const Solved solved{task, numbers.at(1), numbers.at(2)};
    const auto at =
        std::upper_bound(solved_.begin(), solved_.end(), solved, [&](const Solved& a, const Solved& b) {
          const int64_t a_batch = tasks_[a.task].batch, b_batch = tasks_[b.task].batch;
          if (faster(a.step_ns, a_batch, b.step_ns, b_batch)) return true;
          if (faster(b.step_ns, b_batch, a.step_ns, a_batch)) return false;
          return std::tie(a.memory_bytes, a.task) < std::tie(b.memory_bytes, b.task);
        });
    solved_.insert(at, solved);
  }

  /// Only numbers went between the workers; the few best plans are made again by each of them.
  void rank_finalists() {
    const auto count = std::min(solved_.size(), static_cast<size_t>(context_.options.keep));
    for (size_t i = 0; i < count; ++i) {
      const Task& task = tasks_[solved_[i].task];
      auto candidate = TaskSolver(context_, task, cluster_.memory_bytes).solve();
      GALV_ASSERT(candidate && candidate->step_ns == solved_[i].step_ns, solved_[i].step_ns);
      std::string loses;
      if (i > 0) loses = reason(task, *candidate);
      result_.best.push_back({std::move(*candidate), std::move(loses)});
    }
  }

  /// Memory is to blame when the task would win without its limit.
  std::string reason(const Task& task, const Candidate& candidate) const {
    const Candidate& best = result_.best.front().candidate;
    const std::string loss = loss_of(candidate, best);
    if (cluster_.memory_bytes <= 0) return loss;
    const auto free = TaskSolver(context_, task, 0).solve();
    if (!free || !faster(free->step_ns, free->plan.batch, best.step_ns, best.plan.batch)) return loss;
    return core::format("{}; memory is to blame: with {} more per rank it would take {}", loss,
                        core::format_bytes(free->memory_bytes - cluster_.memory_bytes),
                        core::format_seconds(static_cast<double>(free->step_ns) * 1e-9));
  }

  const SearchContext& context_;
  const spec::ClusterSpec& cluster_;
  const program::WorkspaceRule& workspace_;
  core::WorkQueue& queue_;
  std::vector<Task> tasks_;
  std::vector<Solved> solved_;  ///< best first
  SearchResult result_;
};

}  // namespace

SearchResult search(const spec::ModelSpec& model, const spec::ClusterSpec& cluster,
                    const cost::Profile& profile, const SearchOptions& options,
                    const program::WorkspaceRule& workspace, core::WorkQueue& queue) {
  const Kinds kinds(model);
  cost::LayerPricer pricer(profile, cluster, workspace);
  const SearchContext context{model, kinds, options, profile, pricer, spec::fingerprint(model)};
  return Searcher(context, cluster, workspace, queue).run();
}

}  // namespace galvatron::search
