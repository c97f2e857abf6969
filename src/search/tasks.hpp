#pragma once
// The list of tasks of a search and the loops that other files run over it.

#include "search/search.hpp"

namespace galvatron::search {

/// Every (batch, divisor of it, stages, schedule, placement) of a model of so many layers in which each layer
/// kind has a strategy. Cuts are counted in the space. Tasks point into the space.
std::vector<Task> make_tasks(Space& space, int64_t layers, const spec::ClusterSpec& cluster,
                             const SearchOptions& options);

/// Placements that differ: on one node all ranks are equally near, and so are the members of a stage of one.
/// stage-minor only where stages and ranks of a node fit each other.
std::vector<plan::Placement> placements_of(const Pool& pool, const spec::ClusterSpec& cluster,
                                           const SearchOptions& options);

/// The best plan of each family that people use by hand.
std::vector<Restricted> restricted_plans(const SearchContext& context, const Space& space,
                                         int64_t memory_bytes, core::WorkQueue& queue);

/// The nearest miss and what would help. `tasks` must not be empty.
Infeasible explain_infeasible(const SearchContext& context, const spec::ClusterSpec& cluster,
                              const std::vector<Task>& tasks, const program::WorkspaceRule& workspace,
                              core::WorkQueue& queue);

/// Why `other` is slower than `best`, in words.
std::string loss_of(const Candidate& other, const Candidate& best);

/// The samples per second of a candidate.
double samples_per_second(const Candidate& candidate);

}  // namespace galvatron::search
