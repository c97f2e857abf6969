// Receives are posted one message ahead; sends are under way while the next action runs. Slots take turns:
// with k micro-batches in flight, micro-batch i uses slot i mod k.

#include "runtime/player.hpp"

#include "core/format.hpp"

namespace galvatron::runtime {

using Boundary = Stage::Boundary;
using program::Phase;

Player::Player(Stage& stage, StepPlayer& steps, comm::Communicator& pipeline, SectionTimes& times,
               std::function<void(std::string_view)> pat)
    : stage_(stage),
      steps_(steps),
      pipeline_(pipeline),
      times_(times),
      pat_(std::move(pat)),
      previous_(static_cast<int>(stage.program().stage) - 1),
      next_(static_cast<int>(stage.program().stage) + 1) {}

void Player::wait(comm::Pending& pending) {
  const Timed timed(times_, Section::pipeline_wait);
  pending.wait();
}

void Player::post_receive(comm::Pending& pending, Boundary which, int peer, int64_t& remaining) {
  if (remaining == 0) return;
  --remaining;
  pending = pipeline_.receive(stage_.boundary(which), peer);
}

void Player::send(comm::Pending& pending, Boundary which, int peer) {
  pending = pipeline_.send(stage_.boundary(which), peer);
}

void Player::receive_input(int64_t slot) {
  wait(input_);
  steps_.copy(stage_.boundary(Boundary::receive_input), stage_.received_input(slot));
  post_receive(input_, Boundary::receive_input, previous_, inputs_left_);
}

void Player::run_forward_layers(int64_t slot, Phase phase, Section section) {
  for (size_t i = 0; i < stage_.layers(); ++i) {
    auto& at = stage_.addresses(i, slot);
    if (i + 1 < stage_.layers()) {
      at.output = stage_.input(i + 1, slot);
    } else if (!stage_.last()) {
      wait(output_);  // the buffer may still be on its way
      at.output = stage_.boundary_place(Boundary::send_output);
    }
    steps_.play_micro(at, phase, section);
  }
  if (!stage_.last()) send(output_, Boundary::send_output, next_);
}

void Player::feed(int64_t micro, MicroBatchSource& source) {
  const auto slot = micro % stage_.program().arena.slots;
  pat_(core::format("forward of micro-batch {} on stage {}", micro, stage_.program().stage));
  if (stage_.first()) {
    const Timed timed(times_, Section::data_wait);
    source.tokens(micro, stage_.tokens(slot));
  } else {
    receive_input(slot);
  }
  if (stage_.last()) {
    const Timed timed(times_, Section::data_wait);
    source.labels(micro, stage_.labels(slot));
  }
}

void Player::backward(int64_t micro, bool last) {
  const auto slot = micro % stage_.program().arena.slots;
  pat_(core::format("backward of micro-batch {} on stage {}", micro, stage_.program().stage));
  if (!stage_.last()) wait(output_gradient_);
  for (auto i = static_cast<int64_t>(stage_.layers()) - 1; i >= 0; --i) {
    auto& at = stage_.addresses(static_cast<size_t>(i), slot);
    const bool top = i + 1 == static_cast<int64_t>(stage_.layers());
    if (!top)
      at.output_gradient = stage_.flow(i);
    else if (!stage_.last())
      at.output_gradient = stage_.boundary_place(Boundary::receive_output_gradient);
    if (i > 0) {
      at.input_gradient = stage_.flow(i - 1);
    } else if (!stage_.first()) {
      wait(input_gradient_);
      at.input_gradient = stage_.boundary_place(Boundary::send_input_gradient);
    }
    steps_.play_micro(at, Phase::backward, Section::backward);
    if (top && !stage_.last())
      post_receive(output_gradient_, Boundary::receive_output_gradient, next_, gradients_left_);
    if (last) steps_.play(at, Phase::sync, Section::gradient_sync);
  }
  if (!stage_.first()) send(input_gradient_, Boundary::send_input_gradient, previous_);
}

void Player::play_lane(MicroBatchSource& source) {
  const auto& lane = stage_.program().lane;
  int64_t micros = 0, last_backward = 0;
  for (size_t at = 0; at < lane.size(); ++at) {
    if (lane[at].kind == plan::ActionKind::forward)
      ++micros;
    else
      last_backward = static_cast<int64_t>(at);
  }
  inputs_left_ = stage_.first() ? 0 : micros;
  gradients_left_ = stage_.last() ? 0 : micros;
  post_receive(input_, Boundary::receive_input, previous_, inputs_left_);
  post_receive(output_gradient_, Boundary::receive_output_gradient, next_, gradients_left_);
  stage_.loss() = 0.0;
  for (size_t at = 0; at < lane.size(); ++at) {
    if (lane[at].kind == plan::ActionKind::forward) {
      feed(lane[at].micro, source);
      run_forward_layers(lane[at].micro % stage_.program().arena.slots, Phase::forward, Section::forward);
    } else {
      backward(lane[at].micro, static_cast<int64_t>(at) == last_backward);
    }
  }
  wait(output_);
  wait(input_gradient_);
}

void Player::measure_gradients() {
  pat_("gradient norm");
  stage_.gradient_norm() = 0.0;
  for (size_t i = 0; i < stage_.layers(); ++i)
    steps_.play(stage_.addresses(i, 0), Phase::gradient_norm, Section::optimizer);
}

void Player::update(const UpdateSettings& settings) {
  pat_("optimizer");
  steps_.set_update(settings);
  for (size_t i = 0; i < stage_.layers(); ++i)
    steps_.play(stage_.addresses(i, 0), Phase::update, Section::optimizer);
}

void Player::restore() {
  pat_("working weights");
  for (size_t i = 0; i < stage_.layers(); ++i)
    steps_.play(stage_.addresses(i, 0), Phase::restore, Section::optimizer);
}

void Player::evaluate(MicroBatchSource& source, int64_t micros) {
  inputs_left_ = stage_.first() ? 0 : micros;
  post_receive(input_, Boundary::receive_input, previous_, inputs_left_);
  stage_.loss() = 0.0;
  for (int64_t micro = 0; micro < micros; ++micro) {
    feed(micro, source);
    run_forward_layers(micro % stage_.program().arena.slots, Phase::evaluate, Section::evaluate);
  }
  wait(output_);
}

}  // namespace galvatron::runtime
