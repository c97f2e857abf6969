// Reads the six profile files, searches by the rules of Galvatron 3.0, and turns what it finds into a plan.
// The answer depends on nothing but deck and files, so every rank works it out by itself.
#include "app/galvatron3.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/galvatron3/numbers_file.hpp"
#include "store/galvatron3/strategy_file.hpp"

namespace galvatron::app {

bool asks_galvatron3(const deck::DeckValues& deck) {
  return deck.search.rules == "galvatron-3.0";
}

Galvatron3Answer ask_galvatron3(const deck::DeckValues& deck, const spec::ModelSpec& model,
                                const spec::ClusterSpec& cluster,
                                const std::function<std::string(const std::string&)>& read) {
  namespace rules = cost::galvatron3;
  const auto& g = deck.galvatron;
  const auto numbers = [&](const std::string& file) {
    return store::galvatron3::parse_numbers(read(file), file);
  };
  const rules::HardwareFiles hardware = {numbers(g.allreduce), numbers(g.p2p), numbers(g.overlap),
                                         numbers(g.sp_time)};
  const rules::ModelFiles profiles = {numbers(g.computation), numbers(g.memory)};
  const auto request = search::galvatron3::request_from_deck(deck, cluster);
  const auto outcome =
      search::galvatron3::search({rules::hardware_of(hardware, request.settings.world),
                                  rules::model_of(profiles, request.model), request.settings},
                                 request.search);
  Galvatron3Answer answer;
  answer.text = search::galvatron3::report(outcome, request);
  if (!outcome.best) throw core::UserError(core::ExitCode::no_plan, answer.text);
  const auto strategies = search::galvatron3::strategy_file_of(*outcome.best, request);
  answer.strategies = store::galvatron3::to_json(strategies);
  answer.throughput = outcome.best->throughput();
  try {
    answer.plan = plan::galvatron3::plan_of(strategies, model, request.settings.world, "plan");
  } catch (const core::UserError& error) {
    throw core::UserError(
        core::format("{}\nThis plan cannot be played here:\n{}", answer.text, error.what()));
  }
  answer.plan.predicted_step_seconds = outcome.best->seconds;
  answer.plan.model_fingerprint = spec::fingerprint(model);
  return answer;
}

plan::Plan plan_from_text(const std::string& text, const std::string& file, const spec::ModelSpec& model,
                          int64_t world) {
  const auto start = text.find_first_not_of(" \t\r\n");
  const bool json = file.ends_with(".json") || (start != std::string::npos && text[start] == '{');
  if (!json) return plan::plan_from_toml(text, file, model);
  const auto strategies = store::galvatron3::parse_strategy_file(text, file);
  if (strategies.world_size == 0 && world == 0)
    throw core::UserError(
        core::format("{}: key 'world_size' is missing, and the deck's [cluster] does not say "
                     "how many ranks there are either",
                     file));
  return plan::galvatron3::plan_of(strategies, model, world > 0 ? world : strategies.world_size, file);
}

}  // namespace galvatron::app
