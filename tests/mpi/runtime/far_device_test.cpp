// Training where the host cannot touch the device's memory: weights, tokens, losses, checkpoints and messages
// all have to take the ways that a GPU needs, and nothing may come out differently.

#include "support/far_device.hpp"
#include "comm/device_world.hpp"
#include "comm/mpi/mpi_world.hpp"
#include "core/log.hpp"
#include "runtime/trainer.hpp"
#include "store/checkpoint_folder.hpp"
#include "support/plan_job.hpp"
#include "support/training_run.hpp"

namespace galvatron::testing {
namespace {

class FarDevice : public PlanJob {
 protected:
  runtime::TrainReport train(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                             const std::filesystem::path& folder, int64_t stop_after,
                             std::optional<std::filesystem::path> from = {}) {
    deck::DeckValues deck;
    deck.train.steps = 3;
    deck.train.warmup = 1;
    deck.train.stop_after = stop_after;
    const store::RunPaths paths{folder};
    world.agree("make the run folder", [&] {
      if (world.rank() == 0) std::filesystem::create_directories(paths.checkpoints());
    });
    core::SilentLog silent;
    return runtime::train({.deck = deck,
                           .model = model_,
                           .plan = plan_,
                           .world = world,
                           .device = device,
                           .kernels = kernels,
                           .train_data = *data_,
                           .valid_data = data_.get(),
                           .paths = paths,
                           .run_id = "far device test",
                           .resume_from = from,
                           .log = silent});
  }

  spec::ModelSpec model_ = variant_model({});
  // Two ranks make two stages, three a ZeRO-3 group: messages, gathers and scatters all come in.
  plan::Plan plan_ = world().size() == 2
                         ? uniform_plan(model_, 2, 1, 1, 0, spec::Recompute::none, 12, 3)
                         : uniform_plan(model_, 1, 1, world().size(), world().size() > 1 ? 3 : 0,
                                        spec::Recompute::none, 12, 2);
  std::unique_ptr<store::Dataset> data_ = store::make_synthetic_dataset(5, "far device", 2000, model_.vocab);
};

TEST_F(FarDevice, TrainsSavesAndResumesAsTheCpuDoes) {
  const SharedFolder folder(world());
  const auto cpu = device::make_device(device::DeviceKind::cpu);
  const auto cpu_kernels = kernels::make_kernels(*cpu, 1);
  const auto expected = train(world(), *cpu, *cpu_kernels, folder.file("cpu"), 0);

  const auto far = test::make_far_device();
  const auto far_kernels = test::make_far_kernels(*far, 1);
  const auto far_world = comm::make_device_world(comm::mpi::make_world(), *far, nullptr);
  const auto run = folder.file("far");
  train(*far_world, *far, *far_kernels, run, 1);
  const auto saved = store::CheckpointFolder(store::RunPaths{run}.checkpoints()).file_of(1);
  const auto got = train(*far_world, *far, *far_kernels, run, 0, saved);
  EXPECT_EQ(got.resumed_from, 1);
  EXPECT_EQ(got.steps, expected.steps);
  EXPECT_EQ(got.loss, expected.loss);
  ASSERT_TRUE(expected.valid_loss.has_value());
  EXPECT_EQ(got.valid_loss, expected.valid_loss);
}

}  // namespace
}  // namespace galvatron::testing
