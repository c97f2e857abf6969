// galvatron check: everything that can be said about a deck without a launcher and without its data: errors,
// legality, memory, a plan.

#include <algorithm>
#include <memory>
#include <thread>

#include "app/alone.hpp"
#include "app/deck_plan.hpp"
#include "app/end_table.hpp"
#include "app/galvatron3.hpp"
#include "app/nominal.hpp"
#include "app/verbs.hpp"
#include "comm/worker_threads.hpp"
#include "core/format.hpp"
#include "core/table.hpp"
#include "core/units.hpp"
#include "cost/plan_price.hpp"
#include "deck/deck.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "runtime/kernel_args.hpp"
#include "runtime/trainer.hpp"
#include "search/report.hpp"
#include "search/search.hpp"
#include "store/training_data.hpp"

namespace galvatron::app {
namespace {

/// What the later steps of a check share.
struct Subject {
  spec::ModelSpec model;
  spec::ClusterSpec cluster;
  search::SearchOptions options;
  const runtime::KernelWorkspace& workspace;
  device::Device& device;
  int kernel_threads = 1;
};

std::string model_text(const deck::ModelSection& section, const spec::ModelSpec& model) {
  return core::format(
      "model: {} of {} blocks ({} layers), hidden {}, {} heads, ffn {}, vocab {}, seq {}: {} parameters",
      section.family, section.layers, model.size(), section.hidden, section.heads, section.ffn, model.vocab,
      model.seq, parameters_of(model));
}

/// The data stay closed; that they are missing matters only to whoever wants to train here.
void warn_of_missing_data(const deck::DataSection& data, core::Log& log) {
  if (data.format == "synthetic") return;
  const auto look = [&](const char* key, const std::string& glob) {
    try {
      if (!store::data_files_of(data.format, glob).empty()) return;
      log.warning(core::format("{}: '{}' matches no file here", key, glob));
    } catch (const core::UserError& error) {
      log.warning(core::format("{}: '{}': {}", key, glob, error.what()));
    }
  };
  for (const auto& glob : data.train) look("data.train", glob);
  for (const auto& glob : data.valid) look("data.valid", glob);
}

/// What is left of the decision tree, and the commonest reasons why the rest is not.
std::string space_text(const search::Space& space) {
  constexpr size_t most_reasons = 5;
  std::string out = core::format("{} ranks: {} divisions are legal, {} strategies of layers in them\n",
                                 space.ranks, space.divisions.size(), space.strategies());
  auto cuts = space.cuts;
  std::stable_sort(cuts.begin(), cuts.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  std::vector<core::Row> rows;
  for (size_t i = 0; i < std::min(cuts.size(), most_reasons); ++i)
    rows.push_back({core::format("cut {}", cuts[i].count), cuts[i].level, cuts[i].reason});
  if (cuts.size() > most_reasons)
    rows.push_back({"and more:", core::format("{} reasons", cuts.size() - most_reasons), "show --space"});
  return out + core::table(rows, {1, 2});
}

/// The deck's own plan, with every fault at once; nothing when it leaves the choice to the search.
std::optional<plan::Plan> plan_of_deck(const deck::DeckValues& deck, const spec::ModelSpec& model,
                                       int64_t world) {
  if (deck.plan.file.empty()) return plan_by_hand(deck, model, world);
  auto plan = plan_from_text(read_text(deck.plan.file), deck.plan.file, model, world);
  require_legal(plan, model, world, deck.plan.file);
  return plan;
}

/// On as many threads as the machine offers, each with kernels of its own to ask; the plan is the same for
/// any number of them.
search::SearchResult searched(const Subject& subject, const cost::Profile& profile) {
  constexpr unsigned most_workers = 16;
  const auto workers = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, most_workers));
  std::vector<std::unique_ptr<kernels::Kernels>> kernels;
  for (int worker = 0; worker < workers; ++worker)
    kernels.push_back(kernels::make_kernels(subject.device, subject.kernel_threads));
  search::SearchResult found;
  comm::on_workers(workers, [&](core::WorkQueue& queue) {
    const runtime::KernelWorkspace workspace(*kernels[static_cast<size_t>(queue.worker())]);
    auto own = search::search(subject.model, subject.cluster, profile, subject.options, workspace, queue);
    if (queue.worker() == 0) found = std::move(own);
  });
  return found;
}

/// One line on whether the search does better than a plan that does not fit.
std::string way_out(const Subject& subject, const cost::Profile& profile) {
  const auto found = searched(subject, profile);
  if (found.best.empty()) return "does not fit: any plan of the search";
  const auto& best = found.best.front().candidate;
  return core::format("fits: the plan that a search finds (leave [plan] out): {}, {} a rank",
                      search::outline(best.plan), core::format_bytes(best.memory_bytes));
}

/// Throws core::UserError (no plan) when a stage of the deck's own plan needs more than there is.
void require_memory(const plan::Plan& plan, const Subject& subject, const cost::Profile& profile) {
  const auto less = [](const auto& a, const auto& b) { return a.memory_bytes < b.memory_bytes; };
  const auto fullest = std::max_element(plan.predictions.begin(), plan.predictions.end(), less);
  const int64_t memory = subject.cluster.memory_bytes;
  if (fullest->memory_bytes <= memory) return;
  std::string text = core::format(
      "the plan does not fit into {} a rank: {} {} needs {}, {} too much:\n", core::format_bytes(memory),
      plan.virtual_stages > 1 ? "pipeline rank" : "stage", fullest - plan.predictions.begin(),
      core::format_bytes(fullest->memory_bytes), core::format_bytes(fullest->memory_bytes - memory));
  std::vector<core::Row> rows;
  for (const auto& term : fullest->memory_terms)
    rows.push_back({"  " + term.name, core::format_bytes(static_cast<int64_t>(term.amount))});
  throw core::UserError(core::ExitCode::no_plan,
                        text + core::table(rows) + "What would help:\n  " + way_out(subject, profile));
}

/// The plan by the rules of Galvatron 3.0: its prices come from files, so nothing is measured.
core::ExitCode check_galvatron3(Context& context, const Subject& subject) {
  const auto answer = ask_galvatron3(context.deck, subject.model, subject.cluster, read_text);
  context.console.info(answer.text + "\n" + search::plan_table(answer.plan, subject.model));
  context.result.set("predicted_step_s", answer.plan.predicted_step_seconds);
  context.result.set("samples_per_s", answer.throughput);
  context.result.set("rules", context.deck.search.rules);
  return core::ExitCode::finished;
}

}  // namespace

core::ExitCode check_verb(Context& context) {
  // 1. The deck has been read: a wrong one does not come here.
  auto& console = context.console;
  const auto& deck = context.deck;
  console.info(core::format("{}: the deck is right", context.line.file));
  console.detail("\n" + deck::to_toml(deck));
  warn_of_missing_data(deck.data, console);
  // 2. What is to be trained, and on what.
  const auto device = device::make_device(device::DeviceKind::cpu);
  const auto kernel_threads = static_cast<int>(std::max<int64_t>(1, deck.run.threads));
  const auto kernels = kernels::make_kernels(*device, kernel_threads);
  const runtime::KernelWorkspace workspace(*kernels);
  const Subject subject{spec::model_from_deck(deck.model),
                        described_cluster(deck.cluster),
                        search::options_from_deck(deck.search, runtime::dtype_of(deck.train),
                                                  cost::overlap_of(deck.train, deck.checkpoint)),
                        workspace,
                        *device,
                        kernel_threads};
  const auto& [model, cluster, options, rule, own_device, own_threads] = subject;
  console.info(model_text(deck.model, model));
  console.info(core::format("cluster: {} nodes × {} ranks, {} a rank", cluster.nodes, cluster.ranks_per_node,
                            core::format_bytes(cluster.memory_bytes)));
  context.result.set("ranks", cluster.ranks());
  // 3. What is legal.
  const auto own = plan_of_deck(deck, model, cluster.ranks());
  if (!own && asks_galvatron3(deck)) return check_galvatron3(context, subject);
  // 4. How fast things are.
  const auto profile = profile_without_ranks(context, model, cluster, options, *device, *kernels);
  const std::string times = profile.hardware.nominal ? "nominal" : "measured";
  // 5. The deck's plan priced, or the best one found.
  plan::Plan best;
  if (own) {
    best = *own;
  } else {
    const auto found = searched(subject, profile);
    console.info("\n" + space_text(found.space));
    if (found.best.empty())
      throw core::UserError(core::ExitCode::no_plan, search::infeasible_text(*found.infeasible));
    console.info(core::format("Best plans (times {})\n{}", times, search::ranking_table(found)));
    console.detail("Decision tree\n" + search::space_tree(found.space, search::Kinds(model)));
    best = found.best.front().candidate.plan;
  }
  const auto price = cost::price_plan(best, model, options.dtype, profile, cluster, rule, options.overlap);
  best = cost::with_predictions(best, price, profile);
  console.info(core::format("Plan (times {}, {:.0f} % of the work by formula; memory exact)\n{}", times,
                            100 * price.modelled_share, search::plan_table(best, model)));
  context.result.set("predicted_step_s", best.predicted_step_seconds);
  context.result.set("predicted_peak_bytes", price.memory_bytes());
  context.result.set("times", times);
  if (own) require_memory(best, subject, profile);
  return core::ExitCode::finished;
}

}  // namespace galvatron::app
