#pragma once
// The pictures of a report, one function and one file each: values → a <figure>. Empty where there is nothing
// to show. All stay small however large the run: what does not fit is aggregated, and the caption says so.

#include <string>

#include "report/values.hpp"

namespace galvatron::report {

/// Bandwidth isolated and loaded, and latency, of all pairs; ranks share a cell where there are many, which
/// then shows its worst link.
std::string link_maps(const cost::HardwareProfile& hardware);
/// Seconds over bytes per tier, with the fits; thin lines are single links.
std::string link_curves(const cost::HardwareProfile& hardware);
/// Bus bandwidth over bytes, one panel per collective.
std::string collective_curves(const std::vector<Collective>& collectives);
/// Matrix products per precision, and memory: the slowest, median and fastest rank.
std::string peaks_picture(const cost::HardwareProfile& hardware);
/// What a product and a collective cost each other at the same time, a row per kind, group and size.
std::string interference_picture(const cost::HardwareProfile& hardware);
/// Memory outside the arena, part by part.
std::string reserve_picture(const cost::HardwareProfile& hardware);
/// Stages × layers, with the strategy of each run of equal layers.
std::string plan_picture(const plan::Plan& plan, const spec::ModelSpec& model);
/// Memory of each pipeline rank by term against the limit (0: unknown) and what was measured, if anything.
std::string memory_picture(const plan::Plan& plan, int64_t limit, const std::vector<int64_t>& measured);
/// Time per sample of each plan that the search weighed, predicted and tried.
std::string candidates_picture(const std::vector<Candidate>& candidates, const std::string& id,
                               const std::string& title);
/// Step and sections, predicted beside measured.
std::string comparison_picture(const plan::Plan& plan, const Ending& ending);
/// One step of every pipeline rank, as the simulator expects it.
std::string predicted_timeline(const plan::Plan& plan);
/// One step of every rank, as it was.
std::string measured_timeline(const std::vector<TimelineRow>& rows);
/// Training and validation loss over steps.
std::string loss_picture(const std::vector<Metric>& metrics);
/// Seconds per step over steps, with the prediction (0: none).
std::string step_time_picture(const std::vector<Metric>& metrics, double predicted_seconds);

}  // namespace galvatron::report
