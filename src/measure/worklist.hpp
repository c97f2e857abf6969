#pragma once
// Which Programs must be played so that every compute step which a plan may need has a time: the fewest that
// meet every (signature, rows), the most telling ones first.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "program/lower.hpp"

namespace galvatron::measure {

/// A layer as a plan may ask for it.
struct LayerCase {
  spec::LayerSpec layer;
  program::LayerContext context;
};

/// A point of the model profile. Rows are whole numbers.
struct StepPoint {
  std::string key;
  double rows = 0;
  auto operator<=>(const StepPoint&) const = default;
};

struct Worklist {
  std::vector<LayerCase> cases;                ///< in the order in which to play them
  std::vector<std::vector<StepPoint>> offers;  ///< the points of each case, sorted
  std::vector<StepPoint> points;               ///< all that are wanted, sorted
  int64_t known = 0;                           ///< of `points`: need no case
  int64_t first_cases_ends = 0;  ///< the first this many cases hold the least and most rows of every key
};

/// The distinct points of one Program.
std::vector<StepPoint> points_of(const program::Program& program);

using Known = std::function<bool(const StepPoint&)>;

/// Row counts that are closer to their neighbour than a factor of `grid` are left out (the smallest and the
/// largest of a key stay): the curve is linear there. Points that are `known` need no case. Deterministic, so
/// all ranks get the same list.
Worklist make_worklist(
    const std::vector<LayerCase>& candidates, const program::WorkspaceRule& workspace, double grid = 1.4,
    const Known& known = [](const StepPoint&) { return false; });

}  // namespace galvatron::measure
