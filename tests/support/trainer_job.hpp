#pragma once
// A short run of the trainer itself, on data of its own, in a run folder of its own.

#include <filesystem>
#include <memory>

#include "core/log.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "runtime/trainer.hpp"
#include "store/dataset.hpp"
#include "support/training_run.hpp"

namespace galvatron::testing {

class TrainerJob {
 public:
  /// Collective. World, deck, model and plan outlive it.
  TrainerJob(comm::World& world, const deck::DeckValues& deck, const spec::ModelSpec& model,
             const plan::Plan& plan)
      : world_(world),
        deck_(deck),
        model_(model),
        plan_(plan),
        folder_(world),
        device_(device::make_device(device::DeviceKind::cpu)),
        kernels_(kernels::make_kernels(*device_, 1)),
        data_(store::make_synthetic_dataset(5, "trainer", 20000, model.vocab)) {
    world.agree("make the run folder", [&] {
      if (world.rank() == 0) std::filesystem::create_directories(paths().checkpoints());
    });
  }

  store::RunPaths paths() const { return {folder_.file("run")}; }

  /// What the trainer is told; it validates on what it trains on. A test may change it before it trains.
  runtime::TrainJob job() {
    return {.deck = deck_,
            .model = model_,
            .plan = plan_,
            .world = world_,
            .device = *device_,
            .kernels = *kernels_,
            .train_data = *data_,
            .valid_data = data_.get(),
            .paths = paths(),
            .run_id = "trainer test",
            .log = silent_};
  }

 private:
  comm::World& world_;
  const deck::DeckValues& deck_;
  const spec::ModelSpec& model_;
  const plan::Plan& plan_;
  SharedFolder folder_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<kernels::Kernels> kernels_;
  std::unique_ptr<store::Dataset> data_;
  core::SilentLog silent_;
};

}  // namespace galvatron::testing
