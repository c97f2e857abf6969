#pragma once
// A plan come to life on this rank: memory, communicators and players, ready to take steps. Training, trials
// and tests use the same one.

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "deck/sections.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "runtime/groups.hpp"
#include "runtime/loader.hpp"
#include "runtime/player.hpp"
#include "runtime/token_feed.hpp"

namespace galvatron::runtime {

/// What a rank asks of the whole job; the largest request of all ranks is what all hear.
enum class Request : int32_t { none = 0, save = 1, stop_user = 2, stop_requeue = 3 };

/// The same on every rank, but for `seconds`.
struct StepResult {
  double loss = 0;           ///< mean over the step's tokens, nats
  double gradient_norm = 0;  ///< before clipping
  double lr = 0;
  double seconds = 0;  ///< on this rank, from the first forward to the end of the update
  Request request = Request::none;
};

struct SessionOptions {
  core::DType dtype = core::DType::f32;
  uint64_t seed = 1234;
  std::function<void(std::string_view)> pat = [](std::string_view) {};
  /// Called in every step when gradients are reduced and not yet applied.
  std::function<void()> before_update = [] {};
};

class Session {
 public:
  /// Collective. The plan must be free of faults. Weights are initialised from the seed.
  Session(comm::World& world, device::Device& device, kernels::Kernels& kernels, const plan::Plan& plan,
          const spec::ModelSpec& model, const SessionOptions& options);

  /// Collective: one optimizer step on the micro-batches that the loader stands at. Throws core::AgreedError
  /// (numerical) on every rank when any rank's loss or gradient is not finite.
  StepResult step(MicroBatchSource& source, const deck::TrainSection& train, int64_t step,
                  Request request = Request::none);

  /// Collective: Σ of token losses over `micros` micro-batches.
  double evaluate(MicroBatchSource& source, int64_t micros);

  Stage& stage() { return *stage_; }
  /// The way to look into the stage's memory and to change it from the host.
  device::HostWindow& window() { return window_; }
  const plan::Plan& plan() const { return plan_; }
  const spec::ModelSpec& model() const { return model_; }
  comm::World& world() { return world_; }
  SectionTimes& times() { return times_; }

 private:
  StepResult reduce(Request request);
  void require_finite(double loss, double squares);

  comm::World& world_;
  plan::Plan plan_;
  spec::ModelSpec model_;
  SectionTimes times_;
  std::function<void()> before_update_;
  std::unique_ptr<device::Stream> stream_;
  device::HostWindow window_;
  TokenFeed feed_;
  std::unique_ptr<LiveGroups> groups_;
  std::unique_ptr<Stage> stage_;
  std::unique_ptr<StepPlayer> steps_;
  std::unique_ptr<Player> player_;
};

}  // namespace galvatron::runtime
