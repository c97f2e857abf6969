// galvatron convert plan: plan.toml to a strategy file of Galvatron 3.0, and back. The deck says what the
// layers are.

#include <filesystem>

#include "app/alone.hpp"
#include "app/galvatron3.hpp"
#include "app/nominal.hpp"
#include "app/verbs.hpp"
#include "core/format.hpp"
#include "deck/deck.hpp"
#include "store/galvatron3/strategy_file.hpp"

namespace galvatron::app {
namespace {

namespace fs = std::filesystem;

/// The second input, or the deck.toml beside the plan.
std::string deck_file(const std::vector<std::string>& inputs) {
  if (inputs.size() > 1) return inputs[1];
  const auto beside = (fs::path(inputs[0]).parent_path() / "deck.toml").string();
  if (fs::exists(beside)) return beside;
  throw core::UserError(core::format(
      "command line: convert plan needs to know the model: {} is not there; name a deck behind the plan",
      beside));
}

void require_right(const CommandLine& line) {
  std::vector<std::string> problems;
  if (line.inputs.empty() || line.inputs.size() > 2)
    problems.emplace_back("command line: convert plan takes a plan and a deck");
  if (line.out.empty()) problems.emplace_back("command line: convert plan needs --out FILE");
  const auto ending = fs::path(line.out).extension();
  if (!line.out.empty() && ending != ".toml" && ending != ".json")
    problems.push_back(
        core::format("command line: --out {}: .toml for a plan, .json for a strategy file of "
                     "Galvatron 3.0",
                     line.out));
  if (!line.out.empty() && fs::exists(line.out) && !line.overwrite)
    problems.push_back(core::format("command line: {} exists; --overwrite replaces it", line.out));
  if (!problems.empty()) throw core::UserError(core::join(problems, "\n"));
}

}  // namespace

core::ExitCode convert_plan(Context& context) {
  const auto& line = context.line;
  require_right(line);
  const auto& file = line.inputs.front();
  const auto deck_name = deck_file(line.inputs);
  const auto deck = deck::parse_deck(read_text(deck_name), deck_name, {});
  const auto model = spec::model_from_deck(deck.model);
  auto plan = plan_from_text(read_text(file), file, model, described_ranks(deck.cluster));
  if (plan.model_fingerprint.empty()) plan.model_fingerprint = spec::fingerprint(model);
  const bool json = fs::path(line.out).extension() == ".json";
  write_text(line.out, json
                           ? store::galvatron3::to_json(plan::galvatron3::strategy_file_of(plan, model, file))
                           : plan::to_toml(plan, model));
  context.console.info(core::format("{}: the plan of {} for {} ranks", line.out, file, plan.world));
  context.result.set("ranks", plan.world);
  context.result.set("batch", plan.batch);
  return core::ExitCode::finished;
}

}  // namespace galvatron::app
