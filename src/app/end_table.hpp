#pragma once
// What the end of a run shows: where the time went on all ranks, predicted beside measured.

#include <string>
#include <vector>

#include "comm/world.hpp"
#include "runtime/trainer.hpp"

namespace galvatron::app {

/// Seconds of a section over the ranks.
struct SectionRow {
  std::string name;
  double least = 0, mean = 0, most = 0;
};

/// Collective: every section.
std::vector<SectionRow> section_rows(comm::World& world, const runtime::SectionTimes& times);

/// section | min | avg | max | imbalance % | share %, as text.
std::string section_table(const std::vector<SectionRow>& rows);

/// Floating-point operations of one step: 6 · parameters in matrix products · tokens + attention (causal
/// half), forward and backward; recomputation not counted (Narayanan et al., arXiv 2104.04473, in the form
/// without recompute).
double model_flops_per_step(const spec::ModelSpec& model, int64_t batch);

}  // namespace galvatron::app
