// Asks the rules for everything that the tasks of one (batch, micro-batches, stages) need.
#include "search/galvatron3/prices.hpp"

#include <cmath>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "plan/galvatron3/strategy_file.hpp"

namespace galvatron::search::galvatron3 {
namespace {

/// Profiles with absurd numbers may have prices beyond any number, which nothing can be compared with.
void require_finite(const Strategy& strategy, const SyncSeconds& seconds, double mb) {
  if (std::isfinite(seconds.with) && std::isfinite(seconds.without) && std::isfinite(mb)) return;
  throw core::UserError(
      core::format("the profile files give no finite price for {}: {} s with sync, {} s without, {} MB",
                   to_string(strategy), seconds.with, seconds.without, mb));
}

}  // namespace

Prices prices_of(const Rules& rules, const Step& step, int64_t stages, int64_t max_dp,
                 const std::vector<Strategy>& layers, const std::vector<Strategy>& vocabs) {
  Prices out;
  out.step = step;
  out.stages = stages;
  out.layers_of_stage = plan::galvatron3::even_stages(rules.model().layers, stages);
  const auto is_meant = [&](const Strategy& s) { return s.pp == stages && s.dp <= max_dp; };
  for (const auto& s : layers) {
    if (!is_meant(s)) continue;
    PricedLayer priced = {s, rules.layer_seconds(s, step), {}};
    for (int64_t stage = 0; stage < stages; ++stage) {
      priced.mb.push_back(rules.layer_mb(s, step, stage));
      require_finite(s, priced.seconds, priced.mb.back());
    }
    out.layers.push_back(std::move(priced));
  }
  for (const auto& s : vocabs) {
    if (!is_meant(s)) continue;
    PricedVocab priced = {s, {}, {}};
    for (int64_t stage = 0; stage < stages; ++stage) {
      priced.seconds.push_back(rules.vocab_seconds(s, step, stage));
      priced.mb.push_back(rules.vocab_mb(s, step, stage));
      require_finite(s, priced.seconds.back(), priced.mb.back());
    }
    out.vocabs.push_back(std::move(priced));
  }
  return out;
}

}  // namespace galvatron::search::galvatron3
