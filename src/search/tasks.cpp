// Which tasks there are, and which Programs they need.
#include "search/tasks.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "spec/token_layout.hpp"

namespace galvatron::search {
namespace {

/// The schedule that is searched; GPipe only when nothing else is offered, because it is never better.
plan::ScheduleKind searched_schedule(const SearchOptions& options) {
  const auto& offered = options.schedules;
  if (offered.empty()) throw core::UserError("search.schedule names no schedule");
  const auto alternating = plan::ScheduleKind::one_f_one_b;
  return std::find(offered.begin(), offered.end(), alternating) != offered.end() ? alternating
                                                                                 : offered.front();
}

}  // namespace

std::vector<Task> make_tasks(Space& space, const SearchOptions& options) {
  std::vector<Task> tasks;
  const auto schedule = searched_schedule(options);
  for (const int64_t batch : options.batches)
    for (const Division& division : space.divisions)
      for (int64_t micros = 1; micros <= batch; ++micros) {
        if (batch % micros != 0) continue;
        if (division.degrees.dp > batch / micros) {
          space.cut("micro-batches", "fewer samples in a micro-batch than dp");
          continue;
        }
        tasks.push_back({batch, micros, &division, schedule, 0});
      }
  return tasks;
}

double samples_per_second(const Candidate& candidate) {
  return static_cast<double>(candidate.plan.batch) * 1e9 /
         static_cast<double>(std::max<int64_t>(candidate.step_ns, 1));
}

std::vector<NeededProgram> needed_programs(const spec::ModelSpec& model, const spec::ClusterSpec& cluster,
                                           const SearchOptions& options) {
  const Kinds kinds(model);
  Space space = make_space(model, kinds, cluster, options);
  std::set<std::tuple<int64_t, spec::LayerStrategy, int64_t, program::TieScope>> seen;
  std::vector<NeededProgram> needed;
  for (const Task& task : make_tasks(space, options))
    for (int64_t kind = 0; kind < kinds.size(); ++kind) {
      const auto& spec = kinds.specs[static_cast<size_t>(kind)];
      for (const auto& strategy : task.division->choices[static_cast<size_t>(kind)]) {
        const auto context = context_of(model, spec, strategy, task, options.dtype);
        if (seen.emplace(kind, strategy, context.samples, context.tie).second)
          needed.push_back({spec, context});
      }
    }
  return needed;
}

}  // namespace galvatron::search
