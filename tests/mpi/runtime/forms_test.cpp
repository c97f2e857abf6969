// Plans that name forms of their collectives: shared memory gives the bits of the direct form, node by node
// gives its own bits every time and stays within the bounds of parity.
#include <cstring>

#include "comm/mpi/mpi_world.hpp"
#include "support/plan_job.hpp"

namespace galvatron::testing {
namespace {

using core::CollectiveKind;
using core::Form;

constexpr CollectiveKind kinds[] = {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                    CollectiveKind::reduce_scatter};

/// Every shape that this form can have in a world of `ranks`.
std::vector<core::FormChoice> everywhere(Form form, int32_t ranks) {
  std::vector<core::FormChoice> choices;
  for (int32_t size = 2; size <= ranks; ++size)
    for (int32_t nodes = 1; nodes <= size; ++nodes)
      for (int32_t per_node = 1; per_node <= size; ++per_node)
        for (const auto kind : kinds)
          if (int64_t{nodes} * per_node >= size && size >= nodes + per_node - 1 &&
              core::form_fault(form, kind, size, nodes, per_node).empty())
            choices.push_back({size, nodes, per_node, {kind, 0, form}});
  return choices;
}

/// The first tensor whose bits differ, empty when none does. What other ranks hold is NaN on both sides.
std::string different(const Tensors& a, const Tensors& b) {
  for (const auto& [name, values] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second.size() != values.size() ||
        std::memcmp(values.data(), other->second.data(), values.size() * sizeof(double)) != 0)
      return name;
  }
  return a.size() == b.size() ? "" : "another number of tensors";
}

class PlanForms : public PlanJob {
 protected:
  std::vector<plan::Plan> plans(const spec::ModelSpec& model) {
    std::vector<plan::Plan> list;
    const auto n = world().size();
    for (const int32_t zero : {0, 1, 2, 3}) {
      for (const auto& plan :
           {uniform_plan(model, 1, 1, n, zero, spec::Recompute::none, 12, 2),
            uniform_plan(model, 1, n % 2 ? 1 : 2, n % 2 ? n : n / 2, zero, spec::Recompute::none, 12, 1)})
        if (plan::faults_of(plan, model, n).empty()) list.push_back(plan);
    }
    return list;
  }
  const spec::ModelSpec model = small_model(1, 24, 6, 31, 12);
  RunOptions options;
};

TEST_F(PlanForms, SharedMemoryChangesNoBit) {
  if (world().size() == 1) GTEST_SKIP() << "one rank has no groups";
  options.steps = 2;
  for (auto plan : plans(model)) {
    SCOPED_TRACE(describe(plan));
    const auto direct = run_plan(world(), plan, model, options);
    plan.forms = everywhere(Form::shared, world().size());
    const auto shared = run_plan(world(), plan, model, options);
    EXPECT_EQ(shared.losses, direct.losses);
    EXPECT_EQ(shared.gradient_norms, direct.gradient_norms);
    EXPECT_EQ(different(shared.held, direct.held), "") << "on rank " << world().rank();
  }
}

TEST_F(PlanForms, NodeByNodeGivesTheSameBitsAgainAndTheSameLoss) {
  if (world().size() < 3) GTEST_SKIP() << "needs two nodes with two ranks on one";
  const auto nodes = comm::mpi::make_world([](int rank) { return rank / 2; });
  options.steps = 2;
  for (auto plan : plans(model)) {
    SCOPED_TRACE(describe(plan));
    const auto direct = run_plan(*nodes, plan, model, options);
    plan.forms = everywhere(Form::hierarchical, world().size());
    const auto first = run_plan(*nodes, plan, model, options);
    const auto second = run_plan(*nodes, plan, model, options);
    EXPECT_EQ(first.losses, second.losses);
    EXPECT_EQ(different(first.held, second.held), "") << "on rank " << world().rank();
    for (size_t step = 0; step < direct.losses.size(); ++step)
      EXPECT_NEAR(first.losses[step], direct.losses[step], 1e-5 * direct.losses[step]) << "step " << step;
  }
}

}  // namespace
}  // namespace galvatron::testing
