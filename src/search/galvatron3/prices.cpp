// Asks the rules for everything that the tasks of one (batch, micro-batches, stages) need.
#include "search/galvatron3/prices.hpp"

namespace galvatron::search::galvatron3 {

Prices prices_of(const Rules& rules, const Step& step, int64_t stages, int64_t max_dp,
                 const std::vector<Strategy>& layers, const std::vector<Strategy>& vocabs) {
  Prices out;
  out.step = step;
  out.stages = stages;
  out.layers_of_stage = cost::galvatron3::even_stages(rules.model().layers, stages);
  const auto is_meant = [&](const Strategy& s) { return s.pp == stages && s.dp <= max_dp; };
  for (const auto& s : layers) {
    if (!is_meant(s)) continue;
    PricedLayer priced = {s, rules.layer_seconds(s, step), {}};
    for (int64_t stage = 0; stage < stages; ++stage) priced.mb.push_back(rules.layer_mb(s, step, stage));
    out.layers.push_back(std::move(priced));
  }
  for (const auto& s : vocabs) {
    if (!is_meant(s)) continue;
    PricedVocab priced = {s, {}, {}};
    for (int64_t stage = 0; stage < stages; ++stage) {
      priced.seconds.push_back(rules.vocab_seconds(s, step, stage));
      priced.mb.push_back(rules.vocab_mb(s, step, stage));
    }
    out.vocabs.push_back(std::move(priced));
  }
  return out;
}

}  // namespace galvatron::search::galvatron3
