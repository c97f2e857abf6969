// Rounds of one Program per rank, so that all stop at the same place when the budget is spent.
#include "measure/products.hpp"

#include <algorithm>

#include "kernels/product_chooser.hpp"
#include "measure/layer_bench.hpp"
#include "runtime/kernel_args.hpp"

namespace galvatron::measure {
namespace {

using kernels::ProductChooser;

/// "product\nalgorithm\n" for each that `known` does not hold.
std::string lines_of(const core::ProductChoices& choices, const core::ProductChoices& known) {
  std::string text;
  for (const auto& [product, algorithm] : choices.algorithms)
    if (!known.algorithms.contains(product)) text += product + "\n" + algorithm + "\n";
  return text;
}

/// Adds what is new.
void add_lines(const std::string& text, core::ProductChoices& choices) {
  for (size_t at = 0; at < text.size();) {
    const auto middle = text.find('\n', at), end = text.find('\n', middle + 1);
    choices.algorithms.emplace(text.substr(at, middle - at), text.substr(middle + 1, end - middle - 1));
    at = end + 1;
  }
}

void play_case(device::Device& device, kernels::Kernels& kernels, const program::WorkspaceRule& workspace,
               const LayerCase& one, int64_t memory_bytes) {
  const auto program = program::lower(one.layer, one.context, workspace);
  if (const auto bench = make_bench(device, kernels, program, memory_bytes)) bench->play_products();
}

}  // namespace

ProductCoverage measure_products(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                                 const std::vector<LayerCase>& candidates, int64_t memory_bytes,
                                 Budget& budget, cost::ModelProfile& profile) {
  auto& chooser = *kernels.product_chooser();
  // Of another library or device: forgotten.
  if (chooser.use(profile.products) == 0) profile.products = chooser.choices();
  const runtime::KernelWorkspace workspace(kernels);
  // Every number of rows is a product of its own: no curve runs through them.
  const auto list = make_worklist(candidates, workspace, 1.0);
  const auto cases = static_cast<int64_t>(list.cases.size()), ranks = static_cast<int64_t>(world.size());
  ProductCoverage coverage{0, cases};
  chooser.set_mode(ProductChooser::Mode::measured);
  while (coverage.measured < cases && !budget.spent()) {
    const auto mine = coverage.measured + world.rank();
    if (mine < cases)
      play_case(device, kernels, workspace, list.cases[static_cast<size_t>(mine)], memory_bytes);
    coverage.measured = std::min(cases, coverage.measured + ranks);
    budget.note(coverage.measured, cases, "programs");
  }
  chooser.set_mode(ProductChooser::Mode::given);
  const auto all = world.all_gather(lines_of(chooser.choices(), profile.products));
  for (const auto& lines : all) add_lines(lines, profile.products);
  chooser.use(profile.products);
  return coverage;
}

}  // namespace galvatron::measure
