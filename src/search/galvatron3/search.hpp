#pragma once
// The search of Galvatron 3.0 over its prices, twice: by its own objective, and by ours. Both plans of a task
// are judged by its pipeline formula, and the better one is kept.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cost/galvatron3/rules.hpp"
#include "search/galvatron3/space.hpp"
#include "search/galvatron3/stage_path.hpp"

namespace galvatron::search::galvatron3 {

using cost::galvatron3::Rules;
using cost::galvatron3::Step;

/// published: per stage the least sum of layers that reduce gradients, in whole megabytes per layer, with its
/// redistribution costs and biases. own: per stage the least t + g/m (t a micro-batch with redistributions in
/// their physical unit, g what comes once per step), in bytes.
enum class Objective : uint8_t { published, own };

/// Which of tp and sp the layers of a plan may use.
enum class Mode : uint8_t { tp_only, sp_only, tp_with_sp };

/// layers: a strategy per layer. uniform: one for all and the vocabulary.
enum class Grain : uint8_t { layers, uniform };

struct SearchOptions {
  SpaceOptions space;
  std::vector<int64_t> batches;
  int64_t chunks = 0;  ///< micro-batches; 0 = every divisor of the batch
  int64_t memory_mb = 0;
  Grain grain = Grain::layers;
  std::vector<Objective> objectives = {Objective::published, Objective::own};
};

/// A plan and how it was found.
struct Found {
  Step step;
  int64_t stages = 1;
  Mode mode = Mode::tp_only;
  int64_t buffer_width = 1;  ///< ranks for which the gathering buffer was sized
  Objective objective = Objective::published;
  Strategy vocab;
  std::vector<std::vector<Strategy>> layers;  ///< per stage
  std::vector<int64_t> left_mb;               ///< per stage
  double seconds = 0;                         ///< per step, by the pipeline formula
  double throughput() const { return static_cast<double>(step.batch) / seconds; }
};

struct SearchStatistics {
  int64_t tasks = 0;       ///< (batch, micro-batches, stages, mode, buffer)
  int64_t candidates = 0;  ///< with a strategy of the vocabulary each
  int64_t opened = 0;      ///< of those, solved; the others' bounds were worse than the best
  PathStatistics paths;
};

/// What comes nearest to fitting: every layer with the strategy that takes least.
struct Miss {
  Step step;
  int64_t stages = 1;
  int64_t stage = 0;  ///< the fullest
  Strategy layer, vocab;
  double short_mb = 0;
};

struct Outcome {
  std::optional<Found> best;  ///< most samples per second; among equals the first in Galvatron's order
  std::optional<Miss> miss;   ///< when nothing fits, and there was something to try
  SearchStatistics statistics;
};

Outcome search(const Rules& rules, const SearchOptions& options);

const char* name_of(Mode mode);

}  // namespace galvatron::search::galvatron3
