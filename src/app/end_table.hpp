#pragma once
// What the end of a run shows: where the time went on all ranks, predicted beside measured.

#include <string>
#include <vector>

#include "comm/world.hpp"
#include "report/values.hpp"
#include "runtime/trainer.hpp"

namespace galvatron::app {

/// Collective: every section.
std::vector<report::SectionRow> section_rows(comm::World& world, const runtime::SectionTimes& times);

/// section | min | avg | max | imbalance % | share %, as text.
std::string section_table(const std::vector<report::SectionRow>& rows);

/// What each pipeline rank of a plan wants memory for, term by term; what a plan by hand does not know is
/// left out.
std::string memory_text(const plan::Plan& plan);

/// Of the whole model; a table that two layers share counts once.
int64_t parameters_of(const spec::ModelSpec& model);

/// Floating-point operations of one step: 6 · parameters in matrix products · tokens + attention (causal
/// half), forward and backward; recomputation not counted (Narayanan et al., arXiv 2104.04473, in the form
/// without recompute).
double model_flops_per_step(const spec::ModelSpec& model, int64_t batch);

}  // namespace galvatron::app
