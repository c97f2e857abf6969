// Which tasks there are, and which Programs they need.
#include "search/tasks.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "search/growth.hpp"
#include "spec/token_layout.hpp"

namespace galvatron::search {
namespace {

/// Stages on a rank that the search tries: more have ever less to win and ever more messages.
constexpr int64_t most_chunks = 4;

/// Whether every kind has a strategy with a sample for each replica.
bool has_samples(const Pool& pool, int64_t samples) {
  return std::all_of(pool.choices.begin(), pool.choices.end(), [&](const auto& choices) {
    return std::any_of(choices.begin(), choices.end(), [&](const auto& s) { return s.dp <= samples; });
  });
}

/// GPipe is searched only when nothing else is offered, because it is never better: winners are replayed.
void add_tasks(const Task& one, int64_t layers, const SearchOptions& options, std::vector<Task>& tasks) {
  using plan::ScheduleKind;
  Task task = one;
  const auto add = [&](ScheduleKind schedule, int64_t chunks) {
    task.schedule = schedule;
    task.chunks = chunks;
    tasks.push_back(task);
  };
  const auto before = tasks.size();
  const bool pipelined = one.pool->stages > 1;
  if (options.offers(ScheduleKind::one_f_one_b)) add(ScheduleKind::one_f_one_b, 1);
  if (options.offers(ScheduleKind::eager_one_f_one_b) && (pipelined || tasks.size() == before))
    add(ScheduleKind::eager_one_f_one_b, 1);
  if (tasks.size() == before && options.offers(ScheduleKind::gpipe)) add(ScheduleKind::gpipe, 1);
  if (!options.offers(ScheduleKind::interleaved)) return;
  if (!pipelined && tasks.size() == before) add(ScheduleKind::one_f_one_b, 1);
  for (int64_t chunks = 2; pipelined && chunks <= most_chunks; ++chunks)
    if (one.micros % one.pool->stages == 0 && one.pool->stages * chunks <= layers)
      add(ScheduleKind::interleaved, chunks);
}

}  // namespace

std::vector<plan::Placement> placements_of(const Pool& pool, const spec::ClusterSpec& cluster,
                                           const SearchOptions& options) {
  using plan::Placement;
  if (pool.stages == 1 || pool.ranks == 1) return {Placement::stage_major};
  if (cluster.nodes == 1 || cluster.ranks_per_node == 1) return {options.placements.front()};
  const bool even = cluster.ranks_per_node % pool.stages == 0 || pool.stages % cluster.ranks_per_node == 0;
  auto placements = options.placements;
  if (!even) std::erase(placements, Placement::stage_minor);
  return placements;
}

std::vector<Task> make_tasks(Space& space, int64_t layers, const spec::ClusterSpec& cluster,
                             const SearchOptions& options) {
  if (options.schedules.empty()) throw core::UserError("search.schedule names no schedule");
  if (options.placements.empty()) throw core::UserError("search.placement names no placement");
  std::vector<Task> tasks;
  for (const int64_t batch : options.batches)
    for (const Pool& pool : space.pools) {
      const auto placements = placements_of(pool, cluster, options);
      if (placements.empty())
        space.cut("placement", "stage-minor: neither of stages and ranks of a node divides the other");
      for (int64_t micros = 1; micros <= batch; ++micros) {
        if (batch % micros != 0) continue;
        Task task;
        task.batch = batch;
        task.micros = micros;
        task.pool = &pool;
        if (!has_samples(pool, task.samples())) {
          space.cut("micro-batches", "fewer samples in a micro-batch than dp");
          continue;
        }
        for (const auto placement : placements) {
          task.placement = placement;
          add_tasks(task, layers, options, tasks);
        }
      }
    }
  return tasks;
}

double samples_per_second(const Candidate& candidate) {
  return static_cast<double>(candidate.plan.batch) * 1e9 /
         static_cast<double>(std::max<int64_t>(candidate.step_ns, 1));
}

std::vector<NeededProgram> needed_programs(const spec::ModelSpec& model, const spec::ClusterSpec& cluster,
                                           const SearchOptions& asked) {
  const Kinds kinds(model);
  SearchOptions options = asked;
  if (options.batches.empty()) options.batches = batches_to_measure(cluster.ranks());
  Space space = make_space(model, kinds, cluster, options);
  std::set<std::tuple<int64_t, spec::LayerStrategy, int64_t, program::TieScope>> seen;
  std::vector<NeededProgram> needed;
  for (const Task& task : make_tasks(space, model.size(), cluster, options))
    for (int64_t kind = 0; kind < kinds.size(); ++kind) {
      const auto& spec = kinds.specs[static_cast<size_t>(kind)];
      for (const auto& strategy : task.pool->choices[static_cast<size_t>(kind)]) {
        if (strategy.dp > task.samples()) continue;
        const auto context = context_of(model, spec, strategy, task, options.dtype);
        if (seen.emplace(kind, strategy, context.samples, context.tie).second)
          needed.push_back({spec, context});
      }
    }
  return needed;
}

}  // namespace galvatron::search
