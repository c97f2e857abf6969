// Receives are posted one message ahead per channel; sends are under way while the next action runs. Slots
// take turns: with k micro-batches of a chunk in flight, micro-batch i uses slot i mod k. Without overlap
// receives stay posted ahead, else two neighbours that both send would wait for each other.

#include "runtime/player.hpp"

#include "core/short_text.hpp"

namespace galvatron::runtime {

using plan::Action;
using plan::ActionKind;
using program::Phase;

Player::Player(Stage& stage, StepPlayer& steps, StateTraffic& state, comm::Communicator& pipeline,
               SectionTimes& times, std::function<void(std::string_view)> pat, Overlap overlap)
    : stage_(stage),
      steps_(steps),
      state_(state),
      pipeline_(pipeline),
      times_(times),
      pat_(std::move(pat)),
      overlap_(overlap),
      traffic_(stage.program().chunks.size()) {
  const auto ranks = stage.program().pipeline.ranks, rank = stage.program().pipeline_rank;
  previous_ = static_cast<int>((rank + ranks - 1) % ranks);
  next_ = static_cast<int>((rank + 1) % ranks);
  // Of each chunk all four, and one that is about to take the place of another.
  pipeline_.expect_messages(4 * static_cast<int64_t>(traffic_.size()) + 1);
  if (overlap == Overlap::on && ranks > 1) steps_.set_progress([this] { progress(); });
}

void Player::wait(comm::Pending& pending, const TraceSlice& as) {
  const Timed timed(times_, Section::pipeline_wait);
  const Traced traced(trace_, as);
  pending.wait();
}

void Player::wait_for_message(comm::Pending& pending, const Action& action, int peer) {
  const auto route = plan::route_of(action, stage_.program().pipeline_rank, stage_.program().pipeline);
  wait(pending, {.kind = TraceKind::receive,
                 .micro = action.micro,
                 .stage = static_cast<int32_t>(route.from),
                 .peer = pipeline_.members()[static_cast<size_t>(peer)]});
}

TraceSlice Player::slice_of(const Action& action) const {
  return {.kind = action.kind == ActionKind::forward ? TraceKind::forward : TraceKind::backward,
          .micro = action.micro,
          .stage = static_cast<int32_t>(stage_.chunk(action.chunk).stage)};
}

void Player::progress() {
  for (auto& t : traffic_)
    for (auto* pending : {&t.input, &t.output_gradient, &t.output, &t.input_gradient}) pending->test();
}

int64_t Player::slot_of(const Action& action) const {
  return action.micro % stage_.chunk(action.chunk).slots;
}

void Player::post_input(int64_t chunk) {
  auto& t = traffic_[static_cast<size_t>(chunk)];
  if (t.inputs_left == 0) return;
  --t.inputs_left;
  const auto route = plan::route_of({ActionKind::forward, 0, static_cast<int32_t>(chunk)},
                                    stage_.program().pipeline_rank, stage_.program().pipeline);
  if (poison_ != nullptr) poison_->message(chunk, Message::input);
  t.input = pipeline_.receive(stage_.message(chunk, Message::input), previous_, static_cast<int>(route.from));
}

void Player::post_output_gradient(int64_t chunk) {
  auto& t = traffic_[static_cast<size_t>(chunk)];
  if (t.gradients_left == 0) return;
  --t.gradients_left;
  const auto route = plan::route_of({ActionKind::backward, 0, static_cast<int32_t>(chunk)},
                                    stage_.program().pipeline_rank, stage_.program().pipeline);
  if (poison_ != nullptr) poison_->message(chunk, Message::output_gradient);
  t.output_gradient =
      pipeline_.receive(stage_.message(chunk, Message::output_gradient), next_, static_cast<int>(route.from));
}

void Player::send(comm::Pending& pending, const Action& action, Message which, int peer) {
  const auto route = plan::route_of(action, stage_.program().pipeline_rank, stage_.program().pipeline);
  const Traced traced(trace_, {.kind = TraceKind::send,
                               .micro = action.micro,
                               .stage = static_cast<int32_t>(route.to),
                               .peer = pipeline_.members()[static_cast<size_t>(peer)]});
  pending = pipeline_.send(stage_.message(action.chunk, which), peer, static_cast<int>(route.to));
  if (overlap_ == Overlap::off) wait(pending);
}

void Player::open(int64_t inputs, int64_t gradients) {
  for (size_t c = 0; c < traffic_.size(); ++c) {
    const auto chunk = static_cast<int64_t>(c);
    traffic_[c].inputs_left = stage_.chunk(chunk).input.present() ? inputs : 0;
    traffic_[c].gradients_left = stage_.chunk(chunk).output.present() ? gradients : 0;
    post_input(chunk);
    post_output_gradient(chunk);
  }
  stage_.loss() = 0.0;
}

void Player::close() {
  for (auto& t : traffic_) {
    wait(t.output);
    wait(t.input_gradient);
  }
}

void Player::pat(std::string_view action) {
  steps_.set_action(action);
  pat_(action);
}

void Player::pat(std::string_view what, const Action& action) {
  core::ShortText text;
  text.add(what).add(" of micro-batch ").add(int64_t{action.micro}).add(" on stage ");
  text.add(stage_.chunk(action.chunk).stage);
  pat(text.view());
}

void Player::feed(const Action& action, MicroBatchSource& source) {
  const auto& chunk = stage_.chunk(action.chunk);
  const auto slot = slot_of(action);
  const auto first = static_cast<size_t>(chunk.first);
  pat("forward", action);
  if (poison_ != nullptr) poison_->slot(action.chunk, slot);
  if (!chunk.input.present()) {
    const Timed timed(times_, Section::data_wait);
    const Traced traced(trace_, {.kind = TraceKind::data, .micro = action.micro});
    source.tokens(action.micro, stage_.tokens(first, slot));
  } else {
    wait_for_message(traffic(action).input, action, previous_);
    if (stage_.saves_input(first)) {
      steps_.copy(stage_.message(action.chunk, Message::input), stage_.received_input(first, slot));
      post_input(action.chunk);
    }
  }
  if (!chunk.output.present()) {
    const Timed timed(times_, Section::data_wait);
    const Traced traced(trace_, {.kind = TraceKind::data, .micro = action.micro});
    source.labels(action.micro, stage_.labels(first + static_cast<size_t>(chunk.size) - 1, slot));
  }
}

void Player::forward(const Action& action, Phase phase, Section section) {
  const auto& chunk = stage_.chunk(action.chunk);
  const auto slot = slot_of(action);
  auto& t = traffic(action);
  for (int64_t number = 0; number < chunk.size; ++number) {
    const auto layer = static_cast<size_t>(chunk.first + number);
    const bool moves = stage_.program().layers[layer].layer == plan::FlowItem::transition;
    auto& at = stage_.addresses(layer, slot);
    if (moves)
      at.input = number == 0 ? stage_.message_place(action.chunk, Message::input) : stage_.flow(number - 1);
    if (number + 1 < chunk.size) {
      if (poison_ != nullptr && !stage_.saves_input(layer + 1)) poison_->flow(number);
      at.output = stage_.saves_input(layer + 1) ? stage_.saved_input(layer + 1, slot) : stage_.flow(number);
    } else if (chunk.output.present()) {
      wait(t.output);  // the buffer may still be on its way
      if (poison_ != nullptr) poison_->message(action.chunk, Message::output);
      at.output = stage_.message_place(action.chunk, Message::output);
    }
    play_forward(at, layer, phase, section);
    if (moves && number == 0) post_input(action.chunk);
  }
  if (chunk.output.present()) send(t.output, action, Message::output, next_);
}

void Player::play_forward(const LayerAddresses& at, size_t layer, Phase phase, Section section) {
  state_.gather(layer, Phase::gather);
  if (phase == Phase::evaluate) return play(at, layer, phase, section);
  state_.claim_gradients(layer, Phase::forward_reduce);
  play(at, layer, phase, section);
  state_.reduce(layer, Phase::forward_reduce);
}

void Player::play(const LayerAddresses& at, size_t layer, Phase phase, Section section) {
  const Traced traced(trace_, {.kind = TraceKind::layer,
                               .detail = static_cast<uint8_t>(phase),
                               .layer = static_cast<int32_t>(stage_.program().layers[layer].layer)});
  steps_.play(at, phase, section);
  if (poison_ != nullptr) poison_->gathered(at);
}

void Player::bind_backward(LayerAddresses& at, const Action& action, int64_t number) {
  const auto& chunk = stage_.chunk(action.chunk);
  if (number + 1 < chunk.size)
    at.output_gradient = stage_.flow(number);
  else if (chunk.output.present())
    at.output_gradient = stage_.message_place(action.chunk, Message::output_gradient);
  if (number > 0) {
    if (poison_ != nullptr) poison_->flow(number - 1);
    at.input_gradient = stage_.flow(number - 1);
  } else if (chunk.input.present()) {
    wait(traffic(action).input_gradient);
    if (poison_ != nullptr) poison_->message(action.chunk, Message::input_gradient);
    at.input_gradient = stage_.message_place(action.chunk, Message::input_gradient);
  }
}

void Player::backward(const Action& action, bool last) {
  const auto& chunk = stage_.chunk(action.chunk);
  auto& t = traffic(action);
  pat("backward", action);
  if (chunk.output.present()) wait_for_message(t.output_gradient, action, next_);
  for (auto number = chunk.size - 1; number >= 0; --number) {
    const auto layer = static_cast<size_t>(chunk.first + number);
    auto& at = stage_.addresses(layer, slot_of(action));
    bind_backward(at, action, number);
    state_.gather(layer, Phase::backward_gather);
    state_.claim_gradients(layer, Phase::backward_reduce);
    play(at, layer, Phase::backward, Section::backward);
    state_.reduce(layer, Phase::backward_reduce);
    if (number + 1 == chunk.size && chunk.output.present()) post_output_gradient(action.chunk);
    if (last) state_.reduce(layer, Phase::sync);
  }
  if (chunk.input.present()) send(t.input_gradient, action, Message::input_gradient, previous_);
}

void Player::play_lane(MicroBatchSource& source) {
  const auto micros = stage_.program().pipeline.micros;
  open(micros, micros);
  for (const auto& action : stage_.program().lane) {
    const Traced traced(trace_, slice_of(action));
    if (action.kind == ActionKind::forward) {
      feed(action, source);
      forward(action, Phase::forward, Section::forward);
    } else {
      backward(action, action.micro + 1 == micros);
    }
  }
  close();
}

void Player::measure_gradients() {
  pat("gradient norm");
  const Traced traced(trace_, {.kind = TraceKind::norm});
  state_.drain();
  stage_.gradient_norm() = 0.0;
  for (size_t i = 0; i < stage_.layers(); ++i)
    play(stage_.addresses(i, 0), i, Phase::gradient_norm, Section::optimizer);
}

void Player::update(const UpdateSettings& settings) {
  pat("optimizer");
  steps_.set_update(settings);
  const Traced traced(trace_, {.kind = TraceKind::update});
  for (size_t i = 0; i < stage_.layers(); ++i)
    play(stage_.addresses(i, 0), i, Phase::update, Section::optimizer);
}

void Player::restore() {
  pat("working weights");
  for (size_t i = 0; i < stage_.layers(); ++i)
    steps_.play(stage_.addresses(i, 0), Phase::restore, Section::optimizer);
}

void Player::evaluate(MicroBatchSource& source, int64_t micros) {
  auto shape = stage_.program().pipeline;
  shape.micros = micros;
  open(micros, 0);
  for (const auto& action : plan::evaluation_lane(shape)) {
    feed(action, source);
    forward(action, Phase::evaluate, Section::evaluate);
  }
  close();
  state_.drain();
}

}  // namespace galvatron::runtime
