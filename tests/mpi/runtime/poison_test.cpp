// Filling memory that is used again with NaN changes no number of a sound program, and shows in the loss of
// one that reads what is no longer there.

#include "runtime/poison.hpp"

#include <cmath>

#include "plan/lowering.hpp"
#include "runtime/kernel_args.hpp"
#include "support/plan_job.hpp"

namespace galvatron::testing {
namespace {

using program::Phase;
using program::StepKind;
using runtime::Recycled;

constexpr int64_t batch = 12;

class Poison : public PlanJob {
 protected:
  void expect_same(const std::vector<plan::Plan>& plans, const spec::ModelSpec& model) {
    constexpr core::DType types[] = {core::DType::f32, core::DType::bf16, core::DType::f64};
    for (size_t i = 0; i < plans.size(); ++i) {
      SCOPED_TRACE(describe(plans[i]));
      auto options = adamw_run(2);
      options.dtype = types[i % std::size(types)];
      options.recycled = Recycled::as_left;
      const auto expected = run_plan(world(), plans[i], model, options);
      options.recycled = Recycled::poisoned;
      const auto got = run_plan(world(), plans[i], model, options);
      EXPECT_EQ(got.losses, expected.losses);
      EXPECT_EQ(got.gradient_norms, expected.gradient_norms);
      EXPECT_EQ(got.evaluation, expected.evaluation);
      EXPECT_EQ(got.high_water_bytes, got.planned_bytes);
    }
  }
};

TEST_F(Poison, ChangesNoNumber) {
  for (const auto& variant : {Variant{}, llama}) {
    const auto model = variant_model(variant);
    expect_same(pairwise_cover(uniform_plans(model, world().size(), batch, {2, 3})), model);
  }
}

TEST_F(Poison, ChangesNoNumberInAnySchedule) {
  const auto model = variant_model({});
  expect_same(pairwise_cover(schedule_plans(model, world().size(), batch)), model);
}

TEST_F(Poison, ChangesNoNumberWhereLayoutsChange) {
  const auto model = variant_model({});
  std::vector<plan::Plan> plans;
  for (uint64_t i = 0; i < 4; ++i) plans.push_back(mixed_plan(model, world().size(), batch, test_seed(), i));
  expect_same(plans, model);
}

/// Two lanes of a rank whose programs lack something; the second finds the first one's numbers in memory.
class BrokenRank {
 public:
  /// `kind` of step is left out of `phase` of every layer of kind `layer`.
  BrokenRank(comm::World& world, const plan::Plan& plan, const spec::ModelSpec& model, std::string_view layer,
             Phase phase, StepKind kind, Recycled recycled)
      : world_(world),
        groups_(world, plan, model),
        stage_(*device_, without(lowered(plan, model), layer, phase, kind)),
        steps_(
            *kernels_, *stream_,
            [this](const spec::LayerStrategy& s, const program::CollectiveAttributes& c)
                -> comm::Communicator& { return groups_.find(s, c); },
            times_),
        state_(stage_, steps_, steps_, times_,
               {.gradients = runtime::Overlap::off, .parameters = runtime::Overlap::off}),
        player_(
            stage_, steps_, state_, groups_.pipeline(), times_, [](std::string_view) {},
            runtime::Overlap::off),
        poison_(stage_, *kernels_, *stream_),
        data_(store::make_synthetic_dataset(7, "poison", 20000, model.vocab)),
        loader_(
            *data_, [&](int64_t sample) { return sample * (model.seq + 1); }, plan, model, world.rank()) {
    device::HostWindow window(*device_, *stream_);
    stage_.initialise(model, 7, window);
    if (recycled == Recycled::as_left) return;
    player_.set_poison(&poison_);
    steps_.set_poison(&poison_);
  }

  /// Σ of losses over all ranks.
  double loss() {
    for (int i = 0; i < 2; ++i) {
      player_.play_lane(loader_);
      player_.measure_gradients();
    }
    double sum = stage_.loss();
    world_.all_reduce(std::span(&sum, 1), core::ReduceOp::sum);
    return sum;
  }

 private:
  plan::StageProgram lowered(const plan::Plan& plan, const spec::ModelSpec& model) {
    const runtime::KernelWorkspace workspace(*kernels_);
    return plan::lower_stage(plan, model, world_.rank(), core::DType::f32, workspace);
  }

  static plan::StageProgram without(plan::StageProgram stage, std::string_view layer, Phase phase,
                                    StepKind kind) {
    for (auto& instance : stage.layers) {
      if (instance.program->layer.kind != layer) continue;
      auto broken = std::make_shared<program::Program>(*instance.program);
      const auto erased =
          std::erase_if(broken->steps(phase), [&](const program::Step& step) { return step.kind == kind; });
      EXPECT_GT(erased, 0U) << "nothing left out of " << layer;
      instance.program = broken;
    }
    return stage;
  }

  comm::World& world_;
  std::unique_ptr<device::Device> device_ = device::make_device(device::DeviceKind::cpu);
  std::unique_ptr<kernels::Kernels> kernels_ = kernels::make_kernels(*device_, 1);
  std::unique_ptr<device::Stream> stream_ = device_->make_stream();
  runtime::LiveGroups groups_;
  runtime::SectionTimes times_;
  runtime::Stage stage_;
  runtime::StepPlayer steps_;
  runtime::StateTraffic state_;
  runtime::Player player_;
  runtime::Poison poison_;
  std::unique_ptr<store::Dataset> data_;
  runtime::Loader loader_;
};

class BrokenPrograms : public Poison {
 protected:
  void expect_caught(const plan::Plan& plan, std::string_view layer, Phase phase, StepKind kind) {
    const auto model = variant_model({});
    const auto loss = [&](Recycled recycled) {
      return BrokenRank(world(), plan, model, layer, phase, kind, recycled).loss();
    };
    EXPECT_TRUE(std::isfinite(loss(Recycled::as_left))) << "would have been noticed anyway";
    EXPECT_FALSE(std::isfinite(loss(Recycled::poisoned))) << "a read of stale memory was not noticed";
  }
};

TEST_F(BrokenPrograms, AStepThatIsLeftOutShows) {
  const auto ranks = static_cast<int32_t>(world().size());
  const auto plan = uniform_plan(variant_model({}), 1, 1, ranks, 0, spec::Recompute::none, batch, 2);
  expect_caught(plan, "mlp", Phase::forward, StepKind::activation);
  expect_caught(plan, "attention", Phase::forward, StepKind::norm);
  expect_caught(plan, "mlp", Phase::forward, StepKind::add);
}

TEST_F(BrokenPrograms, AGatherThatIsLeftOutShows) {
  if (world().size() == 1) GTEST_SKIP() << "one rank gathers nothing";
  const auto ranks = static_cast<int32_t>(world().size());
  const auto plan = uniform_plan(variant_model({}), 1, 1, ranks, 3, spec::Recompute::none, batch, 2);
  expect_caught(plan, "mlp", Phase::gather, StepKind::collective);
}

}  // namespace
}  // namespace galvatron::testing
