#pragma once
// All prices of one (batch, micro-batches, stages), computed once and shared by the tasks that differ in
// which strategies they allow.

#include <cstdint>
#include <vector>

#include "cost/galvatron3/rules.hpp"

namespace galvatron::search::galvatron3 {

using cost::galvatron3::Rules;
using cost::galvatron3::Step;
using cost::galvatron3::Strategy;
using cost::galvatron3::SyncSeconds;

/// A strategy for layers; memory per stage.
struct PricedLayer {
  Strategy strategy;
  SyncSeconds seconds;
  std::vector<double> mb;
};

/// A strategy for embedding and head; seconds and memory per stage.
struct PricedVocab {
  Strategy strategy;
  std::vector<SyncSeconds> seconds;
  std::vector<double> mb;
};

struct Prices {
  Step step;
  int64_t stages = 1;
  std::vector<int64_t> layers_of_stage;
  std::vector<PricedLayer> layers;
  std::vector<PricedVocab> vocabs;
};

/// Of the strategies with as many stages; those with dp above `max_dp` are left out. Throws core::UserError
/// when a price is not finite.
Prices prices_of(const Rules& rules, const Step& step, int64_t stages, int64_t max_dp,
                 const std::vector<Strategy>& layers, const std::vector<Strategy>& vocabs);

}  // namespace galvatron::search::galvatron3
