// What a person writes, explained: decks, plans and descriptions of clusters.

#include <filesystem>
#include <optional>

#include "app/alone.hpp"
#include "app/galvatron3.hpp"
#include "app/nominal.hpp"
#include "app/shown.hpp"
#include "core/format.hpp"
#include "core/table.hpp"
#include "core/units.hpp"
#include "cost/cluster_file.hpp"
#include "deck/deck.hpp"
#include "plan/plan.hpp"
#include "runtime/trainer.hpp"
#include "search/report.hpp"
#include "search/search.hpp"
#include "search/tasks.hpp"

namespace galvatron::app {
namespace {

namespace fs = std::filesystem;

std::string origin_text(deck::Origin origin) {
  switch (origin) {
    case deck::Origin::standard:
      return "default";
    case deck::Origin::file:
      return "set";
    case deck::Origin::command_line:
      return "command line";
    case deck::Origin::other_keys:
      return "follows others";
  }
  return "";
}

/// The deck of the run folder that a plan lies in.
std::optional<deck::DeckValues> deck_beside(const std::string& plan_file) {
  const auto file = (fs::path(plan_file).parent_path() / "deck.toml").string();
  if (!fs::exists(file)) return std::nullopt;
  return deck::parse_deck(read_text(file), file, {});
}

std::string space_text(const deck::DeckValues& deck, const spec::ModelSpec& model,
                       const spec::ClusterSpec& cluster) {
  const search::Kinds kinds(model);
  const auto options = search::options_from_deck(deck.search, runtime::dtype_of(deck.train));
  auto space = search::make_space(model, kinds, cluster, options);
  if (options.batches.empty()) return search::space_tree(space, kinds);
  const auto tasks = search::make_tasks(space, model.size(), cluster, options);
  return search::space_tree(space, kinds) +
         core::format("{} tasks: batch × micro-batches × stages × schedule × placement\n", tasks.size());
}

}  // namespace

std::string shown_deck(const std::string& file, const std::vector<std::string>& overrides) {
  std::string out, section;
  std::vector<core::Row> rows;
  const auto flush = [&] {
    if (!rows.empty())
      out += (out.empty() ? "" : "\n") + core::format("[{}]\n", section) + core::table(rows, {1, 2, 3, 4});
    rows.clear();
  };
  for (const auto& row : deck::key_rows(read_text(file), file, overrides)) {
    if (row.section != section) flush();
    if (rows.empty()) rows.push_back({"key", "value", "unit", "", "meaning"});
    section = row.section;
    rows.push_back({row.key, row.value, row.unit, origin_text(row.origin), row.meaning});
  }
  flush();
  return out;
}

std::string shown_plan(const std::string& file) {
  const auto text = read_text(file);
  const auto deck = deck_beside(file);
  if (!deck)
    return core::format(
        "No deck.toml lies beside {}, so nothing says what its layers are. As it stands:\n\n{}", file, text);
  const auto model = spec::model_from_deck(deck->model);
  const auto plan = plan_from_text(text, file, model, described_ranks(deck->cluster));
  std::string out = search::plan_table(plan, model);
  if (!plan.model_fingerprint.empty() && plan.model_fingerprint != spec::fingerprint(model))
    out += "The plan was made for another model than that of the deck.toml beside it.\n";
  const auto found = (fs::path(file).parent_path() / "search.txt").string();
  if (fs::exists(found)) out += core::format("\nWhat the search found ({})\n{}", found, read_text(found));
  return out;
}

std::string shown_space_of_deck(const std::string& file, const std::vector<std::string>& overrides) {
  const auto deck = deck::parse_deck(read_text(file), file, overrides);
  return space_text(deck, spec::model_from_deck(deck.model), described_cluster(deck.cluster));
}

std::string shown_space_of_plan(const std::string& file) {
  const auto deck = deck_beside(file);
  if (!deck)
    throw core::UserError(
        core::format("{}: --space needs the deck.toml beside the plan, which is not there", file));
  const auto model = spec::model_from_deck(deck->model);
  auto cluster = described_cluster(deck->cluster);
  const auto world = plan_from_text(read_text(file), file, model, described_ranks(deck->cluster)).world;
  if (cluster.ranks() != world) cluster = {1, world, cluster.memory_bytes};
  return space_text(*deck, model, cluster);
}

std::string shown_cluster(const std::string& file) {
  const auto profile = cost::hardware_from_toml(read_text(file), file);
  const auto rate = [](double bytes_per_second) {
    return core::format("{}/s", core::format_bytes(static_cast<int64_t>(bytes_per_second)));
  };
  const auto link = [&](const std::string& name, const cost::Curve& curve) {
    const auto& [near, far] = std::pair(curve.points.front(), curve.points.back());
    return core::Row{name, core::format_seconds(near.seconds),
                     rate((far.x - near.x) / (far.seconds - near.seconds))};
  };
  return "figures of a cluster, not measured\n" +
         core::table({{"link", "latency", "bandwidth"},
                      link("same node", profile.transfer_same_node),
                      link("across nodes", profile.transfer_across)}) +
         core::table({{"gemm peak a rank", core::format("{:.4g} GFLOP/s", profile.gemm_flops.front() * 1e-9)},
                      {"memory bandwidth a rank", rate(profile.memory_bytes_per_second.front())},
                      {"memory beside the arena", core::format_bytes(profile.reserve_bytes)}});
}

}  // namespace galvatron::app
