#pragma once
// Plays a lane: the only loop that brings streams, communicators and kernels together.

#include <cstdint>
#include <functional>
#include <string_view>

#include "runtime/stage.hpp"
#include "runtime/step_player.hpp"

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
  Player(Stage& stage, StepPlayer& steps, comm::Communicator& pipeline, SectionTimes& times,
         std::function<void(std::string_view)> pat);

  /// Forward and backward of all micro-batches, and the gradient sync of each layer after its last backward.
  void play_lane(MicroBatchSource& source);
  /// Gradients of both ends of the pipeline, and this rank's share of the squared norm.
  void measure_gradients();
  /// Optimizer, parameter gathers.
  void update(const UpdateSettings& settings);
  /// Working weights of 16-bit precisions from their masters.
  void restore();
  /// Losses of `micros` micro-batches, forward alone.
  void evaluate(MicroBatchSource& source, int64_t micros);

 private:
  /// Tokens, labels or the previous stage's activation into the micro-batch's slot.
  void feed(int64_t micro, MicroBatchSource& source);
  void backward(int64_t micro, bool last);
  void run_forward_layers(int64_t slot, program::Phase phase, Section section);
  void receive_input(int64_t slot);
  void post_receive(comm::Pending& pending, Stage::Boundary which, int peer, int64_t& remaining);
  void wait(comm::Pending& pending);
  void send(comm::Pending& pending, Stage::Boundary which, int peer);

  Stage& stage_;
  StepPlayer& steps_;
  comm::Communicator& pipeline_;
  SectionTimes& times_;
  std::function<void(std::string_view)> pat_;
  int previous_, next_;
  comm::Pending input_, output_, output_gradient_, input_gradient_;
  int64_t inputs_left_ = 0, gradients_left_ = 0;
};

}  // namespace galvatron::runtime
