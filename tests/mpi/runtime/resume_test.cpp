// A run that is left and taken up again goes on as if nothing had happened: bit for bit under the same plan,
// within the bounds of parity under another, wherever in the data it stood.

#include "support/plan_job.hpp"
#include "support/tolerances.hpp"
#include "support/training_run.hpp"

namespace galvatron::testing {
namespace {

class Resume : public PlanJob {
 protected:
  /// Plans that split everything that can be split on this many ranks, with parameter sizes that do not
  /// divide.
  std::vector<std::pair<plan::Plan, spec::ModelSpec>> plans(int64_t batch, uint64_t mixed) {
    std::vector<std::pair<plan::Plan, spec::ModelSpec>> list;
    const auto n = world().size();
    for (int32_t zero = 0; zero <= 3; ++zero) {
      const auto model = variant_model(variants()[static_cast<size_t>(zero)]);
      for (const auto& plan :
           {uniform_plan(model, 1, 1, n, zero, spec::Recompute::none, batch, 1),
            uniform_plan(model, 1, n == 3 ? 1 : n, n == 3 ? 3 : 1, zero, spec::Recompute::full, batch, 2),
            uniform_plan(model, n, 1, 1, zero, spec::Recompute::none, batch, 2)})
        if (plan::faults_of(plan, model, n).empty()) list.emplace_back(plan, model);
    }
    for (uint64_t i = 0; i < mixed; ++i) {
      const auto model = variant_model(variants()[i % variants().size()]);
      list.emplace_back(mixed_plan(model, n, batch, test_seed() + 3, i), model);
    }
    return list;
  }
};

TEST_F(Resume, UnderTheSamePlanGoesOnBitForBit) {
  const SharedFolder folder(world());
  const auto all = plans(10, 8);
  for (const auto& [plan, model] : all) {
    SCOPED_TRACE(describe(plan));
    TrainingRun whole(world(), plan, model), first(world(), plan, model), second(world(), plan, model);
    whole.train_to(6);
    first.train_to(3);
    ASSERT_EQ(first.save(folder.file("half")).outcome, store::SaveOutcome::saved);
    second.load(folder.file("half"));
    EXPECT_EQ(second.step(), 3);
    EXPECT_EQ(second.held(), first.held()) << "on rank " << world().rank() << ", right after loading";
    second.train_to(6);
    EXPECT_EQ(second.losses, (std::vector<double>{whole.losses.begin() + 3, whole.losses.end()}));
    EXPECT_EQ(second.gradient_norms,
              (std::vector<double>{whole.gradient_norms.begin() + 3, whole.gradient_norms.end()}));
    EXPECT_EQ(second.held(), whole.held()) << "on rank " << world().rank();
  }
  say("resumed", all.size(), all.size());
}

TEST_F(Resume, AtEveryStepOfTwoEpochs) {
  const SharedFolder folder(world());
  const auto model = variant_model({});
  // 7 windows and a batch of 4: epochs end inside steps and at them.
  const int64_t tokens = 7 * (model.seq + 1), batch = 4, steps = 4;
  for (uint64_t i = 0; i < 3; ++i) {
    const auto plan = mixed_plan(model, world().size(), batch, test_seed() + 4, i);
    SCOPED_TRACE(describe(plan));
    TrainingRun whole(world(), plan, model, tokens);
    ASSERT_EQ(whole.windows(), 7);
    for (int64_t step = 0; step <= steps; ++step) {
      whole.train_to(step);
      ASSERT_EQ(whole.save(folder.file(std::to_string(step))).outcome, store::SaveOutcome::saved);
    }
    ASSERT_GE(steps * batch, 2 * whole.windows());
    const auto expected = whole.held();
    for (int64_t step = 0; step <= steps; ++step) {
      TrainingRun resumed(world(), plan, model, tokens);
      resumed.load(folder.file(std::to_string(step)));
      resumed.train_to(steps);
      EXPECT_EQ(resumed.losses, (std::vector<double>{whole.losses.begin() + step, whole.losses.end()}))
          << "from step " << step;
      EXPECT_EQ(resumed.held(), expected) << "from step " << step << " on rank " << world().rank();
    }
  }
}

TEST_F(Resume, UnderAnotherPlanStaysWithinTheBound) {
  const SharedFolder folder(world());
  for (uint64_t i = 0; i < 12; ++i) {
    const auto model = variant_model(variants()[i % variants().size()]);
    const auto from = mixed_plan(model, world().size(), 10, test_seed() + 5, i),
               to = mixed_plan(model, world().size(), 10, test_seed() + 6, i);
    SCOPED_TRACE(describe(from) + "\nto " + describe(to));
    TrainingRun whole(world(), from, model), other(world(), to, model);
    whole.train_to(3);
    ASSERT_EQ(whole.save(folder.file("half")).outcome, store::SaveOutcome::saved);
    whole.train_to(6);
    other.load(folder.file("half"));
    other.train_to(6);
    for (size_t s = 0; s < 3; ++s) {
      EXPECT_NEAR(other.losses[s], whole.losses[s + 3], tolerance::loss * whole.losses[s + 3]);
      EXPECT_NEAR(other.gradient_norms[s], whole.gradient_norms[s + 3],
                  tolerance::gradient_norm * whole.gradient_norms[s + 3]);
    }
  }
}

/// The bytes of a checkpoint's tensors as one rank reads them.
std::vector<std::byte> content(const std::filesystem::path& file, const spec::ModelSpec& model) {
  const auto alone = comm::make_dry_world(0, 1, 1);
  TrainingRun reader(*alone, uniform_plan(model, 1, 1, 1, 0, spec::Recompute::none, 12, 1), model);
  reader.load(file);
  return reader.held();
}

TEST_F(Resume, FilesHoldTheSameWhateverThePlan) {
  const SharedFolder folder(world());
  const auto model = variant_model({});
  const auto alone = comm::make_dry_world(0, 1, 1);
  TrainingRun single(*alone, uniform_plan(model, 1, 1, 1, 0, spec::Recompute::none, 12, 1), model);
  const auto expected = single.held();
  const auto names = runtime::tensors_of(model, core::DType::f32);
  for (const auto& plan : pairwise_cover(uniform_plans(model, world().size(), 12, {1, 4}))) {
    SCOPED_TRACE(describe(plan));
    TrainingRun run(world(), plan, model);
    ASSERT_EQ(run.save(folder.file("start")).outcome, store::SaveOutcome::saved);
    EXPECT_EQ(store::read_tensors(folder.file("start")), names) << "names, shapes and types";
    if (world().rank() == 0) {
      EXPECT_EQ(content(folder.file("start"), model), expected);
    }
    world().barrier();
  }
}

TEST_F(Resume, LoadingAndSavingAgainChangesNothing) {
  const SharedFolder folder(world());
  const auto model = variant_model({true, true, 4});
  const auto from = mixed_plan(model, world().size(), 12, test_seed() + 7, 0),
             to = mixed_plan(model, world().size(), 12, test_seed() + 7, 1);
  TrainingRun first(world(), from, model), second(world(), to, model);
  first.train_to(2);
  ASSERT_EQ(first.save(folder.file("first")).outcome, store::SaveOutcome::saved);
  second.load(folder.file("first"));
  ASSERT_EQ(second.save(folder.file("second")).outcome, store::SaveOutcome::saved);
  if (world().rank() == 0) {
    EXPECT_EQ(content(folder.file("first"), model), content(folder.file("second"), model));
  }
}

}  // namespace
}  // namespace galvatron::testing
