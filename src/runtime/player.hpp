#pragma once
// Plays a lane: the only loop that brings streams, communicators and kernels together.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "runtime/poison.hpp"
#include "runtime/stage.hpp"
#include "runtime/state_traffic.hpp"
#include "runtime/step_player.hpp"
#include "runtime/trace.hpp"

namespace galvatron::runtime {

/// Where the tokens of a micro-batch come from. Views are i32 in host memory, 1 × rows of this rank's tp
/// group in gathered order. What a Session is given; its Player sees views of the device (see
/// token_feed.hpp).
class MicroBatchSource {
 public:
  virtual ~MicroBatchSource() = default;
  virtual void tokens(int64_t micro, device::TensorView out) = 0;
  virtual void labels(int64_t micro, device::TensorView out) = 0;
};

class Player {
 public:
  /// `pipeline`: this rank's place in every stage. `pat` tells the watchdog what is being done.
  Player(Stage& stage, StepPlayer& steps, StateTraffic& state, comm::Communicator& pipeline,
         SectionTimes& times, std::function<void(std::string_view)> pat, Overlap overlap);

  /// Forward and backward of all micro-batches, and the gradient sync of each layer after its last backward.
  void play_lane(MicroBatchSource& source);
  /// Gradients of both ends of the pipeline, and this rank's share of the squared norm.
  void measure_gradients();
  /// Optimizer, parameter gathers.
  void update(const UpdateSettings& settings);
  /// Working weights of 16-bit precisions from their masters.
  void restore();
  /// Records what is done; null: nothing is recorded.
  void set_trace(TraceLane* lane) { trace_ = lane; }
  /// What fills memory before it is used again; null for nothing.
  void set_poison(Poison* poison) { poison_ = poison; }
  /// Losses of `micros` micro-batches, forward alone.
  void evaluate(MicroBatchSource& source, int64_t micros);

 private:
  using Message = Stage::Message;

  /// Messages of one chunk: those sent may still be under way, those received are posted one ahead.
  struct Traffic {
    comm::Pending input, output_gradient;
    comm::Pending output, input_gradient;
    int64_t inputs_left = 0, gradients_left = 0;
  };
  Traffic& traffic(const plan::Action& action) { return traffic_[static_cast<size_t>(action.chunk)]; }

  void open(int64_t inputs, int64_t gradients);
  void close();
  /// Tokens, labels or the previous stage's activation into the micro-batch's slot.
  void feed(const plan::Action& action, MicroBatchSource& source);
  void forward(const plan::Action& action, program::Phase phase, Section section);
  void backward(const plan::Action& action, bool last);
  /// One phase of one layer.
  void play(const LayerAddresses& at, size_t layer, program::Phase phase, Section section);
  void play_forward(const LayerAddresses& at, size_t layer, program::Phase phase, Section section);
  void bind_backward(LayerAddresses& at, const plan::Action& action, int64_t number);

  /// Tells the watchdog without asking for memory.
  void pat(std::string_view action);
  void pat(std::string_view what, const plan::Action& action);
  int64_t slot_of(const plan::Action& action) const;
  void post_input(int64_t chunk);
  void post_output_gradient(int64_t chunk);
  void send(comm::Pending& pending, const plan::Action& action, Message which, int peer);
  void wait(comm::Pending& pending, const TraceSlice& as = {.kind = TraceKind::wait});
  /// The message that an action needs.
  void wait_for_message(comm::Pending& pending, const plan::Action& action, int peer);
  TraceSlice slice_of(const plan::Action& action) const;
  /// Lets messages under way move on; called between steps.
  void progress();

  Stage& stage_;
  StepPlayer& steps_;
  StateTraffic& state_;
  comm::Communicator& pipeline_;
  SectionTimes& times_;
  std::function<void(std::string_view)> pat_;
  Overlap overlap_;
  int previous_, next_;
  TraceLane* trace_ = nullptr;
  Poison* poison_ = nullptr;
  std::vector<Traffic> traffic_;  ///< per chunk
};

}  // namespace galvatron::runtime
