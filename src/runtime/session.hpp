#pragma once
// A plan come to life on this rank: memory, communicators and players, ready to take steps. Training, trials
// and tests use the same one.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deck/sections.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "runtime/groups.hpp"
#include "runtime/loader.hpp"
#include "runtime/loss_scale.hpp"
#include "runtime/player.hpp"
#include "runtime/poison.hpp"
#include "runtime/token_feed.hpp"
#include "runtime/trace.hpp"

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
  double loss_scale = 1.0;  ///< that this step used
  bool skipped = false;     ///< fp16: a gradient overflowed, nothing was updated
};

struct SessionOptions {
  core::DType dtype = core::DType::f32;
  LossScale loss_scale = {};
  uint64_t seed = 1234;
  OverlapSettings overlap = {};
  Graphs graphs = Graphs::on;  ///< where the device's streams capture and memory is not poisoned
  Recycled recycled = recycled_by_default;
  int64_t trace_steps = 0;  ///< the last steps of which a trace is kept; 0 = none
  std::function<void(std::string_view)> pat = [](std::string_view) {};
  /// Hears once why graphs were given up.
  std::function<void(const std::string&)> note = [](const std::string&) {};
  /// Called in every step when gradients are reduced and not yet applied.
  std::function<void()> before_update = [] {};
};

class Session {
 public:
  /// Collective. The plan must be free of faults. Weights are initialised from the seed.
  Session(comm::World& world, device::Device& device, kernels::Kernels& kernels, const plan::Plan& plan,
          const spec::ModelSpec& model, const SessionOptions& options);

  /// Collective: one optimizer step on the micro-batches that the loader stands at. Throws core::AgreedError
  /// (numerical) on every rank, naming layer and tensor, when any rank's loss or gradient is not finite; with
  /// fp16 after `train.max_skipped` such steps in a row.
  StepResult step(MicroBatchSource& source, const deck::TrainSection& train, int64_t step,
                  Request request = Request::none);

  /// Collective: Σ of token losses over `micros` micro-batches.
  double evaluate(MicroBatchSource& source, int64_t micros);

  /// Collective: makes working weights of 16-bit precisions from their masters, after these were loaded.
  void restore() { player_->restore(); }

  const LossScale& loss_scale() const { return loss_scale_; }
  void set_loss_scale(const LossScale& scale) { loss_scale_ = scale; }

  /// Collective: the logits of the one position of micro-batch 0 that has a label, one per id of the
  /// vocabulary, the same on every rank.
  std::vector<double> logits(MicroBatchSource& source);

  Stage& stage() { return *stage_; }
  /// The way to look into the stage's memory and to change it from the host.
  device::HostWindow& window() { return window_; }
  const plan::Plan& plan() const { return plan_; }
  const spec::ModelSpec& model() const { return model_; }
  comm::World& world() { return world_; }
  SectionTimes& times() { return times_; }
  /// Null without one.
  Trace* trace() { return trace_.get(); }
  /// Runs of steps that were given to the device as a whole so far.
  int64_t graph_launches() const { return graphs_of_steps_ ? graphs_of_steps_->launches() : 0; }
  /// Of the thread that computes; null without a trace.
  TraceLane* trace_lane() { return trace_ ? &trace_->compute : nullptr; }

 private:
  StepResult reduce(const deck::TrainSection& train, Request request);
  void require_finite(double loss, double squares);
  std::string first_non_finite();
  void start_trace(int64_t steps);

  comm::World& world_;
  plan::Plan plan_;
  spec::ModelSpec model_;
  SectionTimes times_;
  std::function<void()> before_update_;
  std::function<void(std::string_view)> pat_;
  core::DType dtype_;
  LossScale loss_scale_;
  std::unique_ptr<device::Stream> stream_;
  device::HostWindow window_;
  TokenFeed feed_;
  std::unique_ptr<LiveGroups> groups_;
  std::unique_ptr<Stage> stage_;
  std::unique_ptr<Poison> poison_;  ///< where memory is to be poisoned
  std::unique_ptr<Trace> trace_;    ///< before the threads that write to it
  SectionTimes beside_times_;       ///< of the thread beside: not part of this rank's step
  std::unique_ptr<comm::Background> ring_;
  std::unique_ptr<StepGraphs> graphs_of_steps_;  ///< null where nothing is captured
  std::unique_ptr<StepPlayer> steps_, beside_;
  std::unique_ptr<StateTraffic> state_;
  std::unique_ptr<Player> player_;
};

}  // namespace galvatron::runtime
