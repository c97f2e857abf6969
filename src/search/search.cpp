// The search as a story: space, tasks, bounds, rounds in bound order, finalists, and beside them the plans
// that people would have written by hand.
#include "search/search.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "search/deal.hpp"
#include "search/growth.hpp"
#include "search/tasks.hpp"

namespace galvatron::search {
namespace {

/// Tasks bounded or solved between two looks at the best plans so far. The same for any number of workers, so
/// that all of them open the same tasks.
constexpr size_t round_size = 8;

/// Stands for the end of a line in an answer, which is one line.
constexpr char line_break = '\x1e';

/// A task that waits for its turn: first its quick bound is replaced by one from prices, then it is solved.
struct Waiting {
  int64_t bound = 0;
  size_t task = 0;
  bool priced = false;
};

/// What is known of a solved task.
struct Solved {
  size_t task = 0;
  int64_t step_ns = 0, memory_bytes = 0;
};

/// One of the best plans, and what its task would do without a limit of memory.
struct Finalist {
  Candidate candidate;
  int64_t free_ns = 0, free_bytes = 0;
};

class Searcher {
 public:
  Searcher(const SearchContext& context, const spec::ClusterSpec& cluster,
           const program::WorkspaceRule& workspace, core::WorkQueue& queue)
      : context_(context), cluster_(cluster), workspace_(workspace), queue_(queue) {}

  /// Samples per second of the fastest plan before its polish; nothing when none fits.
  std::optional<double> rate() {
    result_.space = make_space(context_.model, context_.kinds, cluster_, context_.options);
    tasks_ = make_tasks(result_.space, context_.model.size(), cluster_, context_.options);
    bound_tasks();
    open_tasks();
    if (solved_.empty()) return std::nullopt;
    const Solved& best = solved_.front();
    return static_cast<double>(tasks_[best.task].batch) / (static_cast<double>(best.step_ns) * 1e-9);
  }

  SearchResult run() {
    result_.space = make_space(context_.model, context_.kinds, cluster_, context_.options);
    tasks_ = make_tasks(result_.space, context_.model.size(), cluster_, context_.options);
    if (tasks_.empty())
      throw core::UserError(
          core::ExitCode::no_plan,
          core::format("no division of {} ranks is legal for this model:{}", cluster_.ranks(), cuts_text()));
    bound_tasks();
    open_tasks();
    if (dominated_ > 0)
      result_.space.cut("choices", "another strategy of the layer is better in everything", dominated_);
    if (solved_.empty() && context_.options.overlap.checkpoints) return std::move(result_);
    if (solved_.empty()) {
      result_.infeasible = explain_infeasible(context_, cluster_, tasks_, workspace_, queue_);
    } else {
      rank_finalists();
      result_.restricted = restricted_plans(context_, result_.space, cluster_.memory_bytes, queue_);
      compare_restricted();
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
    const auto answers = deal(queue_, tasks_.size(),
                              [&](size_t i) { return core::format("{}", quick_bound(context_, tasks_[i])); });
    for (size_t i = 0; i < tasks_.size(); ++i) tasks_[i].bound = numbers_of(answers[i]).at(0);
    std::stable_sort(tasks_.begin(), tasks_.end(),
                     [](const Task& a, const Task& b) { return faster(a.bound, a.batch, b.bound, b.batch); });
    result_.statistics.tasks = static_cast<int64_t>(tasks_.size());
  }

  void open_tasks() {
    std::vector<Waiting> waiting;
    for (size_t i = 0; i < tasks_.size(); ++i) waiting.push_back({tasks_[i].bound, i});
    for (bool first = true; !waiting.empty(); first = false) {
      doubtful_ = !first && hopeless_ && cluster_.memory_bytes > 0;
      std::stable_sort(waiting.begin(), waiting.end(), [&](const Waiting& a, const Waiting& b) {
        return faster(a.bound, tasks_[a.task].batch, b.bound, tasks_[b.task].batch);
      });
      std::vector<Waiting> round;
      for (const Waiting& one : waiting)
        if (round.size() < tasks_at_a_time() && !is_beaten(one)) round.push_back(one);
      waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(round.size()));
      if (round.empty()) break;
      share_out(round);
      const auto answers = deal(
          queue_, round.size(),
          [&](size_t i) {
            if (round[i].priced) return solve(solver_of(round[i].task));
            return core::format("{}", bound(round[i].task));
          },
          [&](size_t i) { return home_[round[i].task]; });
      for (size_t i = 0; i < round.size(); ++i) {
        if (round[i].priced)
          record(round[i].task, answers[i]);
        else
          waiting.push_back({numbers_of(answers[i]).at(0), round[i].task, true});
        hopeless_ = hopeless_ && !round[i].priced && waiting.back().bound == unreachable;
      }
      forget_solvers(waiting);
    }
  }

  /// Who looks at the tasks of a round. Solving takes longest, so it is shared out first: by those that have
  /// the prices, but where one of them has more to do than it takes somebody else to make them again.
  void share_out(const std::vector<Waiting>& round) {
    constexpr int64_t solving = 6, pricing = 1;
    std::vector<int64_t> work(static_cast<size_t>(queue_.workers()), 0);
    home_.resize(tasks_.size(), 0);
    const auto idlest = [&] {
      return static_cast<size_t>(std::min_element(work.begin(), work.end()) - work.begin());
    };
    for (const bool priced : {true, false})
      for (const Waiting& one : round) {
        if (one.priced != priced) continue;
        size_t& home = home_[one.task];
        if (!priced || work[home] > work[idlest()] + pricing) {
          home = idlest();
          work[home] += pricing;
        }
        if (priced) work[home] += solving;
      }
  }

  bool is_bounded() const { return context_.options.bounds == Bounds::on; }
  /// Nothing is learnt between tasks that are all solved.
  size_t tasks_at_a_time() const { return is_bounded() ? round_size : tasks_.size(); }

  /// Whether the task's bound is worse than the last of the plans to keep.
  bool is_beaten(const Waiting& one) const {
    if (one.bound == unreachable) return true;
    if (!is_bounded()) return false;
    const auto keep = static_cast<size_t>(context_.options.keep);
    if (solved_.size() < keep) return false;
    const Solved& last = solved_[keep - 1];
    return faster(last.step_ns, tasks_[last.task].batch, one.bound, tasks_[one.task].batch);
  }

  /// As long as nothing fits, a look at what parameters alone take spares the prices.
  int64_t bound(size_t task) {
    if (doubtful_ && least_bytes(context_, tasks_[task]) > cluster_.memory_bytes) return unreachable;
    return solver_of(task).bound();
  }

  /// A task's prices, bounds and solution stay with the worker that made them.
  TaskSolver& solver_of(size_t task) {
    auto& solver = solvers_[task];
    if (!solver) solver = std::make_unique<TaskSolver>(context_, tasks_[task], cluster_.memory_bytes);
    return *solver;
  }

  /// Those that neither wait nor are among the plans to keep.
  void forget_solvers(const std::vector<Waiting>& waiting) {
    std::map<size_t, std::unique_ptr<TaskSolver>> kept;
    const auto keep = [&](size_t task) {
      const auto found = solvers_.find(task);
      if (found != solvers_.end()) kept.insert(solvers_.extract(found));
    };
    for (const Waiting& one : waiting)
      if (!is_beaten(one)) keep(one.task);
    for (size_t i = 0; i < std::min(solved_.size(), static_cast<size_t>(context_.options.keep)); ++i)
      keep(solved_[i].task);
    solvers_ = std::move(kept);
  }

  std::string solve(TaskSolver& solver) const {
    const auto candidate = solver.solve();
    const auto& counts = solver.counts();
    const auto work =
        core::format("{} {} {} {}", solver.dominated(), counts.problems, counts.labels, counts.cut);
    if (!candidate) return "0 0 0 1 " + work;
    return core::format("1 {} {} {} {}", candidate->step_ns, candidate->memory_bytes,
                        candidate->exact ? 1 : 0, work);
  }

  void record(size_t task, const std::string& answer) {
    const auto numbers = numbers_of(answer);
    auto& statistics = result_.statistics;
    ++statistics.opened;
    statistics.exact = statistics.exact && numbers.at(3) != 0;
    dominated_ += numbers.at(4);
    statistics.stage_solves += numbers.at(5);
    statistics.labels += numbers.at(6);
    statistics.labels_cut += numbers.at(7);
    if (numbers.at(0) == 0) return;
    ++statistics.feasible;
    insert({task, numbers.at(1), numbers.at(2)});
  }

  void insert(const Solved& solved) {
    const auto at =
        std::upper_bound(solved_.begin(), solved_.end(), solved, [&](const Solved& a, const Solved& b) {
          const int64_t a_batch = tasks_[a.task].batch, b_batch = tasks_[b.task].batch;
          if (faster(a.step_ns, a_batch, b.step_ns, b_batch)) return true;
          if (faster(b.step_ns, b_batch, a.step_ns, a_batch)) return false;
          return std::tie(a.memory_bytes, a.task) < std::tie(b.memory_bytes, b.task);
        });
    solved_.insert(at, solved);
  }

  /// Plans travel as the text of their files, which gives the same plan back.
  std::string polish(TaskSolver& solver) const {
    const Candidate best = solver.polished();
    int64_t free_ns = 0, free_bytes = 0;
    if (cluster_.memory_bytes > 0)
      if (const auto free = TaskSolver(solver, 0).solve()) {
        free_ns = free->step_ns;
        free_bytes = free->memory_bytes;
      }
    std::string text = plan::to_toml(best.plan, context_.model);
    std::replace(text.begin(), text.end(), '\n', line_break);
    return core::format("{} {} {} {} {} {}", best.step_ns, best.memory_bytes, best.exact ? 1 : 0, free_ns,
                        free_bytes, text);
  }

  void rank_finalists() {
    const auto count = std::min(solved_.size(), static_cast<size_t>(context_.options.keep));
    const auto answers = deal(
        queue_, count, [&](size_t i) { return polish(solver_of(solved_[i].task)); },
        [&](size_t i) { return home_[solved_[i].task]; });
    std::vector<Finalist> finalists;
    for (size_t i = 0; i < count; ++i) finalists.push_back(finalist_of(answers[i]));
    std::stable_sort(finalists.begin(), finalists.end(), [](const Finalist& a, const Finalist& b) {
      return faster(a.candidate.step_ns, a.candidate.plan.batch, b.candidate.step_ns, b.candidate.plan.batch);
    });
    for (Finalist& finalist : finalists) {
      std::string loses;
      if (!result_.best.empty()) loses = reason(finalist);
      result_.best.push_back({std::move(finalist.candidate), std::move(loses)});
    }
  }

  Finalist finalist_of(const std::string& answer) const {
    size_t end = 0;
    for (int blanks = 0; blanks < 5; ++blanks) end = answer.find(' ', end) + 1;
    const auto numbers = numbers_of(answer.substr(0, end));
    std::string text = answer.substr(end);
    std::replace(text.begin(), text.end(), line_break, '\n');
    Finalist finalist;
    finalist.candidate = {plan::plan_from_toml(text, "a worker's plan", context_.model), numbers.at(0),
                          numbers.at(1), numbers.at(2) != 0};
    finalist.free_ns = numbers.at(3);
    finalist.free_bytes = numbers.at(4);
    return finalist;
  }

  /// What plans by hand lose. The surrogate may err by a few percent between stages: should one of them be
  /// faster in the simulator, it is the best.
  void compare_restricted() {
    const Candidate* fastest = nullptr;
    for (const Restricted& one : result_.restricted)
      if (one.best && (fastest == nullptr || is_faster(*one.best, *fastest))) fastest = &*one.best;
    if (fastest != nullptr && is_faster(*fastest, result_.best.front().candidate)) {
      result_.best.insert(result_.best.begin(), {*fastest, ""});
      if (result_.best.size() > static_cast<size_t>(context_.options.keep)) result_.best.pop_back();
      for (size_t i = 1; i < result_.best.size(); ++i)
        result_.best[i].loses = loss_of(result_.best[i].candidate, *fastest);
    }
    const Candidate& best = result_.best.front().candidate;
    for (Restricted& one : result_.restricted)
      if (one.best) one.loses = one.best->plan == best.plan ? "nothing" : loss_of(*one.best, best);
  }

  static bool is_faster(const Candidate& a, const Candidate& b) {
    return faster(a.step_ns, a.plan.batch, b.step_ns, b.plan.batch);
  }

  /// Memory is to blame when the task would win without its limit.
  std::string reason(const Finalist& finalist) const {
    const Candidate& best = result_.best.front().candidate;
    const std::string loss = loss_of(finalist.candidate, best);
    const bool blame = finalist.free_ns > 0 && finalist.free_bytes > cluster_.memory_bytes &&
                       faster(finalist.free_ns, finalist.candidate.plan.batch, best.step_ns, best.plan.batch);
    if (!blame) return loss;
    return core::format("{}; memory is to blame: with {} more per rank it would take {}", loss,
                        core::format_bytes(finalist.free_bytes - cluster_.memory_bytes),
                        core::format_seconds(static_cast<double>(finalist.free_ns) * 1e-9));
  }

  const SearchContext& context_;
  const spec::ClusterSpec& cluster_;
  const program::WorkspaceRule& workspace_;
  core::WorkQueue& queue_;
  std::vector<Task> tasks_;
  std::vector<Solved> solved_;                             ///< best first
  std::map<size_t, std::unique_ptr<TaskSolver>> solvers_;  ///< of this worker's tasks
  std::vector<size_t> home_;                               ///< who has them, per task
  int64_t dominated_ = 0;
  bool hopeless_ = true;   ///< no task that was looked at can fit
  bool doubtful_ = false;  ///< likewise, after a round
  SearchResult result_;
};

/// Nothing found and nothing explained where copies for checkpoints were to fit as well.
SearchResult search_once(const spec::ModelSpec& model, const spec::ClusterSpec& cluster,
                         const cost::Profile& profile, const SearchOptions& options,
                         const program::WorkspaceRule& workspace, core::WorkQueue& queue) {
  const Kinds kinds(model);
  cost::LayerPricer pricer(profile, cluster, workspace, options.overlap);
  SearchOptions now = options;
  const SearchContext context{model, kinds, now, profile, pricer, spec::fingerprint(model)};
  if (options.batches.empty()) {
    now.keep = 1;
    const auto batches = growing_batches(cluster.ranks(), [&](int64_t batch) {
      now.batches = {batch};
      return Searcher(context, cluster, workspace, queue).rate();
    });
    now.batches = batches;
    now.keep = options.keep;
  }
  return Searcher(context, cluster, workspace, queue).run();
}

}  // namespace

/// Where no plan leaves room for copies, checkpoints are written between steps.
SearchResult search(const spec::ModelSpec& model, const spec::ClusterSpec& cluster,
                    const cost::Profile& profile, const SearchOptions& options,
                    const program::WorkspaceRule& workspace, core::WorkQueue& queue) {
  SearchOptions now = options;
  now.overlap.checkpoints = options.overlap.checkpoints && !profile.hardware.nominal;
  auto result = search_once(model, cluster, profile, now, workspace, queue);
  if (!result.best.empty() || !now.overlap.checkpoints) return result;
  now.overlap.checkpoints = false;
  return search_once(model, cluster, profile, now, workspace, queue);
}

}  // namespace galvatron::search
