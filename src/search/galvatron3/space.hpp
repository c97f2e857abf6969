#pragma once
// The strategies that Galvatron 3.0 chooses from.

#include <cstdint>
#include <set>
#include <vector>

#include "cost/galvatron3/strategy.hpp"

namespace galvatron::search::galvatron3 {

using cost::galvatron3::DpType;
using cost::galvatron3::Strategy;

/// Its switches: strategies with a degree above 1 on the axis, with ZeRO-3 or with recomputation are left
/// out.
enum class Without : uint8_t { pp, tp, sp, cp, dp, zero3, recompute };

struct SpaceOptions {
  int64_t world = 1;
  int64_t layers = 1;  ///< no more stages than these
  int64_t max_pp = 1, max_tp = 1, max_sp = 1, max_cp = 1;
  DpType plain = DpType::zero2;  ///< of replicas that do not share parameters: ddp or zero2
  std::set<Without> without;
};

/// Its list for layers: every degree a power of two, ascending and each once. On a world that is no power of
/// two the quotient of the ranks is rounded down, and ranks are lost.
std::vector<Strategy> layer_strategies(const SpaceOptions& options);

/// Its list for embedding and head: the same without recomputation.
std::vector<Strategy> vocab_strategies(const std::vector<Strategy>& layers);

}  // namespace galvatron::search::galvatron3
