// Rounds of one Program per rank, so that all stop at the same place when the budget is spent.
#include "measure/algorithms.hpp"

#include <algorithm>

#include "kernels/algorithm_chooser.hpp"
#include "measure/layer_bench.hpp"
#include "runtime/kernel_args.hpp"

namespace galvatron::measure {
namespace {

using kernels::AlgorithmChooser;

/// "call\nalgorithm\n" for each that `known` does not hold.
std::string lines_of(const core::AlgorithmChoices& choices, const core::AlgorithmChoices& known) {
  std::string text;
  for (const auto& [call, algorithm] : choices.algorithms)
    if (!known.algorithms.contains(call)) text += call + "\n" + algorithm + "\n";
  return text;
}

/// Adds what is new.
void add_lines(const std::string& text, core::AlgorithmChoices& choices) {
  for (size_t at = 0; at < text.size();) {
    const auto middle = text.find('\n', at), end = text.find('\n', middle + 1);
    choices.algorithms.emplace(text.substr(at, middle - at), text.substr(middle + 1, end - middle - 1));
    at = end + 1;
  }
}

void play_case(device::Device& device, kernels::Kernels& kernels, const program::WorkspaceRule& workspace,
               const LayerCase& one, int64_t memory_bytes) {
  const auto program = program::lower(one.layer, one.context, workspace);
  if (const auto bench = make_bench(device, kernels, program, memory_bytes)) bench->play_chosen();
}

/// Collective.
bool everywhere(comm::World& world, bool here) {
  const auto all = world.all_gather(here ? "yes" : "no");
  return std::ranges::all_of(all, [](const auto& answer) { return answer == "yes"; });
}

}  // namespace

bool has_choice(kernels::Kernels& kernels) {
  return std::ranges::any_of(core::all_chosen_steps,
                             [&](core::ChosenStep step) { return kernels.chooser(step) != nullptr; });
}

AlgorithmCoverage measure_algorithms(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                                     const std::vector<LayerCase>& candidates, int64_t memory_bytes,
                                     Budget& budget, cost::ModelProfile& profile) {
  // A library that is missing on one rank has no choices anywhere.
  std::vector<core::ChosenStep> chosen;
  for (const auto step : core::all_chosen_steps)
    if (everywhere(world, kernels.chooser(step) != nullptr)) chosen.push_back(step);
  const auto set_mode = [&](AlgorithmChooser::Mode mode) {
    for (const auto step : chosen) kernels.chooser(step)->set_mode(mode);
  };
  for (const auto step : chosen) {
    // Of another library or device: forgotten.
    auto& known = profile.choices(step);
    if (kernels.chooser(step)->use(known) == 0) known = kernels.chooser(step)->choices();
  }
  const runtime::KernelWorkspace workspace(kernels);
  // Every number of rows is a call of its own: no curve runs through them.
  const auto list = make_worklist(candidates, workspace, 1.0);
  const auto cases = static_cast<int64_t>(list.cases.size()), ranks = static_cast<int64_t>(world.size());
  AlgorithmCoverage coverage{0, cases};
  set_mode(AlgorithmChooser::Mode::measured);
  while (coverage.measured < cases && !budget.spent()) {
    const auto mine = coverage.measured + world.rank();
    if (mine < cases)
      play_case(device, kernels, workspace, list.cases[static_cast<size_t>(mine)], memory_bytes);
    coverage.measured = std::min(cases, coverage.measured + ranks);
    budget.note(coverage.measured, cases, "programs");
  }
  set_mode(AlgorithmChooser::Mode::given);
  for (const auto step : chosen) {
    auto& known = profile.choices(step);
    const auto all = world.all_gather(lines_of(kernels.chooser(step)->choices(), known));
    for (const auto& lines : all) add_lines(lines, known);
    kernels.chooser(step)->use(known);
  }
  return coverage;
}

}  // namespace galvatron::measure
