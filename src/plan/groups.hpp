#pragma once
// The groups of ranks that a plan makes talk, from plan data alone: the runtime makes their communicators,
// prices ask what those hold.

#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.hpp"
#include "spec/mesh.hpp"
#include "spec/model.hpp"

namespace galvatron::plan {

/// The group of `rank` under a layer's strategy on its stage, in the plan's placement; with the tie axis the
/// holders of the model's two ends together.
std::vector<int> group_of(const Plan& plan, const spec::LayerStrategy& strategy, int64_t rank,
                          spec::AxisSet axes);
/// The ranks at the place of `rank` in every stage, first stage first.
std::vector<int> pipeline_group_of(const Plan& plan, int64_t rank);

/// All groups of two and more ranks of the whole world, the same list on every rank.
std::vector<spec::RankGroup> groups_of(const Plan& plan, const spec::ModelSpec& model);
/// Those of them that hold any of `ranks`.
std::vector<spec::RankGroup> groups_of(const Plan& plan, const spec::ModelSpec& model,
                                       std::span<const int64_t> ranks);

}  // namespace galvatron::plan
