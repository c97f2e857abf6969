// The table at the end of a run adds up: no second is counted in two sections.

#include "runtime/trainer.hpp"

#include "core/log.hpp"
#include "support/plan_job.hpp"
#include "support/training_run.hpp"

namespace galvatron::testing {
namespace {

class Trainer : public PlanJob {};

TEST_F(Trainer, SectionsAreDisjoint) {
  const SharedFolder folder(world());
  const auto model = variant_model({});
  deck::DeckValues deck;
  deck.train.steps = 4;
  deck.train.warmup = 1;
  deck.train.eval_every = 1;  // most of the run evaluates
  deck.checkpoint.every = 0;
  const auto plan = uniform_plan(model, 1, 1, world().size(), 0, spec::Recompute::none, 12, 1);
  const auto device = device::make_device(device::DeviceKind::cpu);
  const auto kernels = kernels::make_kernels(*device, 1);
  const auto data = store::make_synthetic_dataset(5, "trainer", 20000, model.vocab);
  core::SilentLog silent;
  const store::RunPaths paths{folder.file("run")};
  world().agree("make the run folder", [&] {
    if (world().rank() == 0) std::filesystem::create_directories(paths.checkpoints());
  });
  const auto report = runtime::train({.deck = deck,
                                      .model = model,
                                      .plan = plan,
                                      .world = world(),
                                      .device = *device,
                                      .kernels = *kernels,
                                      .train_data = *data,
                                      .valid_data = data.get(),
                                      .paths = paths,
                                      .run_id = "trainer test",
                                      .log = silent});
  double sum = 0;
  for (size_t i = 0; i < runtime::section_count; ++i)
    sum += report.sections.of(static_cast<runtime::Section>(i));
  EXPECT_EQ(report.steps, 4);
  EXPECT_TRUE(report.valid_loss.has_value());
  EXPECT_GT(report.sections.of(runtime::Section::evaluate), 0.0);
  EXPECT_LE(sum, report.wall_seconds) << "on rank " << world().rank();
}

}  // namespace
}  // namespace galvatron::testing
