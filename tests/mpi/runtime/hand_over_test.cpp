// Other numbers of ranks take up what four ranks left. The jobs are started one after the other: the first
// writes, the others read; the folder comes from the environment.

#include <cstdlib>

#include "support/plan_job.hpp"
#include "support/tolerances.hpp"
#include "support/training_run.hpp"

namespace galvatron::testing {
namespace {

class HandOver : public PlanJob {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("GALVATRON_TEST_FOLDER");
    ASSERT_NE(folder, nullptr) << "run through CTest, which names the folder";
    folder_ = folder;
  }
  std::filesystem::path file(int32_t zero) const { return folder_ / ("zero" + std::to_string(zero) + ".h5"); }

 private:
  std::filesystem::path folder_;
};

/// Tied on two stages with ZeRO 0 and 1, else data parallel: the sharding that the file must not show.
plan::Plan writer_plan(const spec::ModelSpec& model, int32_t zero) {
  return uniform_plan(model, zero <= 1 ? 2 : 1, 2, zero <= 1 ? 1 : 2, zero, spec::Recompute::none, 10, 2);
}

TEST_F(HandOver, WriteOnFourRanks) {
  ASSERT_EQ(world().size(), 4);
  for (int32_t zero = 0; zero <= 3; ++zero) {
    const auto model = variant_model(variants()[static_cast<size_t>(zero)]);
    TrainingRun run(world(), writer_plan(model, zero), model);
    run.train_to(4);
    ASSERT_EQ(run.save(file(zero)).outcome, store::SaveOutcome::saved);
  }
}

TEST_F(HandOver, ReadOnAnyNumberOfRanks) {
  for (int32_t zero = 0; zero <= 3; ++zero) {
    const auto model = variant_model(variants()[static_cast<size_t>(zero)]);
    const auto alone = comm::make_dry_world(0, 1, 1);
    TrainingRun whole(*alone, uniform_plan(model, 1, 1, 1, 0, spec::Recompute::none, 10, 1), model);
    whole.train_to(8);
    for (uint64_t i = 0; i < 3; ++i) {
      const auto plan = mixed_plan(model, world().size(), 10, test_seed() + 8, i);
      SCOPED_TRACE("written with zero " + std::to_string(zero) + ", read by " + describe(plan));
      TrainingRun run(world(), plan, model);
      run.load(file(zero));
      ASSERT_EQ(run.step(), 4);
      run.train_to(8);
      for (size_t s = 0; s < 4; ++s) {
        EXPECT_NEAR(run.losses[s], whole.losses[s + 4], tolerance::loss * whole.losses[s + 4]);
        EXPECT_NEAR(run.gradient_norms[s], whole.gradient_norms[s + 4],
                    tolerance::gradient_norm * whole.gradient_norms[s + 4]);
      }
    }
  }
}

}  // namespace
}  // namespace galvatron::testing
