// Copies are equal under every plan, and one flipped bit in one of them is found and named.

#include "runtime/replicas.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"
#include "support/plan_job.hpp"

namespace galvatron::testing {
namespace {

constexpr int64_t batch = 12;

class Replicas : public PlanJob {};

/// Two steps of a plan.
class TwoSteps {
 public:
  TwoSteps(comm::World& world, const plan::Plan& plan, const spec::ModelSpec& model, core::DType dtype)
      : session_(world, *device_, *kernels_, plan, model, options_of(dtype)),
        data_(store::make_synthetic_dataset(7, "replicas", 20000, model.vocab)),
        loader_(
            *data_, [&](int64_t sample) { return sample * (model.seq + 1); }, plan, model, world.rank()) {
    for (int64_t step = 0; step < 2; ++step) {
      loader_.seek(step * plan.batch);
      session_.step(loader_, adamw_run(2).train, step);
    }
  }

  runtime::Session& session() { return session_; }

  /// The first group of this rank that others hold whole too; null where there is none.
  std::byte* replicated_weights() {
    auto& stage = session_.stage();
    for (size_t i = 0; i < stage.layers(); ++i) {
      if (stage.program().layers[i].layer == plan::FlowItem::transition) continue;
      const auto& at = stage.state_of(i);
      for (size_t g = 0; g < at.groups.size(); ++g) {
        const auto& group = at.program->groups[g];
        if (group.stored_here() && group.replicas > 1 && group.zero < 3) return at.groups[g].weights;
      }
    }
    return nullptr;
  }

  void flip(std::byte* weights) {
    session_.window().edit(weights, 1).front() ^= std::byte{1};
    session_.window().put_back();
  }

 private:
  static runtime::SessionOptions options_of(core::DType dtype) {
    runtime::SessionOptions options;
    options.dtype = dtype;
    return options;
  }

  std::unique_ptr<device::Device> device_ = device::make_device(device::DeviceKind::cpu);
  std::unique_ptr<kernels::Kernels> kernels_ = kernels::make_kernels(*device_, 1);
  runtime::Session session_;
  std::unique_ptr<store::Dataset> data_;
  runtime::Loader loader_;
};

TEST_F(Replicas, AreEqualUnderEveryPlan) {
  constexpr core::DType types[] = {core::DType::f32, core::DType::bf16, core::DType::f64};
  const auto model = variant_model({});
  const auto plans = pairwise_cover(uniform_plans(model, world().size(), batch, {2}));
  int64_t compared = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    SCOPED_TRACE(describe(plans[i]));
    TwoSteps run(world(), plans[i], model, types[i % std::size(types)]);
    compared += runtime::check_replicas(run.session());
  }
  EXPECT_GT(compared, 0);
}

TEST_F(Replicas, OneFlippedBitIsNamed) {
  const auto model = variant_model({});
  const auto last = world().size() - 1;
  std::vector<plan::Plan> plans = {
      uniform_plan(model, 1, 1, world().size(), 0, spec::Recompute::none, batch, 1),
      uniform_plan(model, 1, 1, world().size(), 2, spec::Recompute::none, batch, 1)};
  if (world().size() % 2 == 0) {
    plans.push_back(uniform_plan(model, 1, 2, world().size() / 2, 0, spec::Recompute::none, batch, 1));
    // The table is on the first and on the last stage.
    plans.push_back(uniform_plan(model, 2, 1, world().size() / 2, 0, spec::Recompute::none, batch, 2));
  }
  for (const auto& plan : plans) {
    SCOPED_TRACE(describe(plan));
    TwoSteps run(world(), plan, model, core::DType::f32);
    auto* weights = run.replicated_weights();
    ASSERT_NE(weights, nullptr);
    if (world().rank() == last) run.flip(weights);
    try {
      runtime::check_replicas(run.session());
      ADD_FAILURE() << "a flipped bit was not found";
    } catch (const core::AgreedError& error) {
      EXPECT_EQ(error.code(), core::ExitCode::numerical);
      EXPECT_NE(error.text().find(core::format("rank {} (", last)), std::string::npos) << error.text();
      EXPECT_NE(error.text().find("model/"), std::string::npos) << error.text();
      EXPECT_EQ(error.text().find("more copies"), std::string::npos) << error.text();
    }
    if (world().rank() == last) run.flip(weights);
    EXPECT_NO_THROW(runtime::check_replicas(run.session()));
  }
}

TEST_F(Replicas, NothingIsComparedWhereNothingIsHeldTwice) {
  const auto model = variant_model({});
  const auto plan = uniform_plan(model, 1, 1, world().size(), 3, spec::Recompute::none, batch, 1);
  TwoSteps run(world(), plan, model, core::DType::f32);
  EXPECT_EQ(runtime::check_replicas(run.session()), 0);
}

}  // namespace
}  // namespace galvatron::testing
