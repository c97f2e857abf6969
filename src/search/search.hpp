#pragma once
// The entry of the room: model, cluster and profile in, ranked plans out, and why the others lost.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/work_queue.hpp"
#include "search/task.hpp"

namespace galvatron::search {

struct Ranked {
  Candidate candidate;
  std::string loses;  ///< against the best one: how much, and on what; empty for the best
};

/// The best plan of a family that people use by hand.
struct Restricted {
  std::string name;  ///< "pure dp", "zero3", "tp", "pp", "3-D", "uniform"
  std::optional<Candidate> best;
  std::string loses;    ///< against the best plan of all
  std::string why_not;  ///< when there is none
};

/// One thing that somebody could change, tried.
struct Change {
  std::string what;
  bool fits = false;
};

/// No plan fits: the one that comes nearest.
struct Infeasible {
  Candidate nearest;
  int64_t stage = 0;         ///< its fullest stage
  int64_t short_bytes = 0;   ///< that this stage lacks
  int64_t memory_bytes = 0;  ///< per rank, that there are
  std::vector<Change> changes;
  int64_t tasks = 0;   ///< of the search
  int64_t tried = 0;   ///< of them; the others need more, or are the less likely ones of a long list
  bool proven = true;  ///< no task needs less
};

struct Statistics {
  int64_t tasks = 0;                   ///< (batch, micro-batches, division) combinations
  int64_t opened = 0;                  ///< tasks solved; the others' bounds were worse than the plans kept
  int64_t feasible = 0;                ///< opened tasks with a plan that fits
  int64_t stage_solves = 0;            ///< distinct stage optima
  int64_t labels = 0, labels_cut = 0;  ///< of their paths
  bool exact = true;                   ///< every optimum was proven
};

struct SearchResult {
  std::vector<Ranked> best;  ///< best first; empty when nothing fits
  std::vector<Restricted> restricted;
  Space space;
  std::optional<Infeasible> infeasible;
  Statistics statistics;
};

/// All workers call it alike and get the same result, whatever their number. Throws core::UserError when the
/// profile cannot price what the cluster needs.
SearchResult search(const spec::ModelSpec& model, const spec::ClusterSpec& cluster,
                    const cost::Profile& profile, const SearchOptions& options,
                    const program::WorkspaceRule& workspace, core::WorkQueue& queue);

/// A Program that the search may ask the price of.
struct NeededProgram {
  spec::LayerSpec layer;
  program::LayerContext context;
};

/// All of them, each once: what a profile should measure.
std::vector<NeededProgram> needed_programs(const spec::ModelSpec& model, const spec::ClusterSpec& cluster,
                                           const SearchOptions& options);

}  // namespace galvatron::search
