// galvatron check: everything that can be said about a deck without a launcher and without its data: errors,
// memory, a plan.

#include <algorithm>

#include "app/alone.hpp"
#include "app/nominal.hpp"
#include "app/verbs.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "core/work_queue.hpp"
#include "cost/plan_price.hpp"
#include "deck/deck.hpp"
#include "device/topology.hpp"
#include "plan/by_hand.hpp"
#include "program/lower.hpp"
#include "runtime/kernel_args.hpp"
#include "runtime/trainer.hpp"
#include "search/report.hpp"
#include "search/search.hpp"

namespace galvatron::app {
namespace {

spec::ClusterSpec cluster_of(const deck::ClusterSection& section) {
  spec::ClusterSpec cluster{std::max<int64_t>(1, section.nodes), std::max<int64_t>(1, section.ranks_per_node),
                            section.memory};
  if (cluster.memory_bytes == 0)
    cluster.memory_bytes = device::available_host_memory() / cluster.ranks_per_node;
  return cluster;
}

int64_t parameters_of(const spec::ModelSpec& model) {
  int64_t count = 0;
  for (const auto& layer : model.layers)
    for (const auto& p : program::parameters_of(layer))
      if (p.owner.empty()) count += p.rows * p.cols;
  return count;
}

/// The deck's own plan, with every fault at once; nothing when it leaves the choice to the search.
std::optional<plan::Plan> plan_of_deck(const deck::DeckValues& deck, const spec::ModelSpec& model,
                                       int64_t world) {
  if (!deck.plan.file.empty()) {
    auto plan = plan::plan_from_toml(read_text(deck.plan.file), deck.plan.file, model);
    const auto faults = plan::faults_of(plan, model, world);
    if (!faults.empty())
      throw core::UserError(core::format("{}:\n  {}", deck.plan.file, core::join(faults, "\n  ")));
    return plan;
  }
  if (deck.plan.by_hand() || !deck.search.enabled)
    return plan::plan_by_hand(plan::uniform_from_deck(deck.plan, world, deck.search.batch.front()), model);
  return std::nullopt;
}

/// Throws core::UserError (no plan) when a stage needs more than there is.
void require_memory(const plan::Plan& plan, int64_t memory_bytes) {
  std::vector<std::string> lines;
  for (size_t s = 0; s < plan.predictions.size(); ++s)
    if (const auto need = plan.predictions[s].memory_bytes; need > memory_bytes)
      lines.push_back(core::format("stage {} needs {} a rank, {} more than there is", s,
                                   core::format_bytes(need), core::format_bytes(need - memory_bytes)));
  if (!lines.empty())
    throw core::UserError(core::ExitCode::no_plan, "the plan does not fit: " + core::join(lines, "; "));
}

}  // namespace

core::ExitCode check_verb(Context& context) {
  // 1. The deck has been read: a wrong one does not come here.
  auto& console = context.console;
  console.info(core::format("{}: the deck is right", context.line.file));
  console.detail("\n" + deck::to_toml(context.deck));
  // 2. What is to be trained, and on what.
  const auto model = spec::model_from_deck(context.deck.model);
  const auto cluster = cluster_of(context.deck.cluster);
  console.info(core::format("model: {} layers, {:.3f} million parameters", model.size(),
                            static_cast<double>(parameters_of(model)) / 1e6));
  console.info(core::format("cluster: {} nodes × {} ranks, {} a rank", cluster.nodes, cluster.ranks_per_node,
                            core::format_bytes(cluster.memory_bytes)));
  // 3. What the kernels need and how fast things are.
  const auto device = device::make_device(device::DeviceKind::cpu);
  const auto kernels =
      kernels::make_kernels(*device, static_cast<int>(std::max<int64_t>(1, context.deck.run.threads)));
  const runtime::KernelWorkspace workspace(*kernels);
  const auto options = search::options_from_deck(context.deck.search, runtime::dtype_of(context.deck.train));
  const auto own = plan_of_deck(context.deck, model, cluster.ranks());
  const auto profile = profile_without_ranks(context, model, cluster, options, *device, *kernels);
  // 4. The deck's plan priced, or the best one found.
  plan::Plan best;
  if (own) {
    cost::LayerPricer pricer(profile, cluster, workspace);
    best = cost::with_predictions(*own, cost::price_plan(*own, model, options.dtype, pricer), profile);
  } else {
    core::LocalQueue queue;
    const auto found = search::search(model, cluster, profile, options, workspace, queue);
    if (found.best.empty())
      throw core::UserError(core::ExitCode::no_plan, search::infeasible_text(*found.infeasible));
    console.info("\n" + search::ranking_table(found) + "\n" + search::restricted_table(found));
    best = found.best.front().candidate.plan;
  }
  console.info("\n" + search::plan_table(best, model));
  int64_t peak = 0;
  for (const auto& stage : best.predictions) peak = std::max(peak, stage.memory_bytes);
  context.result.set("ranks", cluster.ranks());
  context.result.set("predicted_step_s", best.predicted_step_seconds);
  context.result.set("predicted_peak_bytes", peak);
  if (own) require_memory(best, cluster.memory_bytes);
  return core::ExitCode::finished;
}

}  // namespace galvatron::app
