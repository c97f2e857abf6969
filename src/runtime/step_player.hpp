#pragma once
// Plays one step. The only code that turns a step into a call of a kernel or a communicator.

#include <array>
#include <functional>
#include <optional>
#include <string_view>

#include "comm/background.hpp"
#include "comm/communicator.hpp"
#include "core/short_text.hpp"
#include "kernels/kernels.hpp"
#include "program/program.hpp"
#include "runtime/addresses.hpp"
#include "runtime/poison.hpp"
#include "runtime/sections.hpp"
#include "runtime/step_graphs.hpp"
#include "runtime/trace.hpp"

namespace galvatron::runtime {

/// The live group of a collective step of a layer with this strategy.
using GroupFinder =
    std::function<comm::Communicator&(const spec::LayerStrategy&, const program::CollectiveAttributes&)>;

/// What the optimizer needs to know at play time.
struct UpdateSettings {
  core::OptimizerKind optimizer = core::OptimizerKind::adamw;
  double lr = 0, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.0;
  double gradient_scale = 1.0;  ///< from clipping
  int64_t step = 1;             ///< counts from 1
  bool skip = false;            ///< drop the gradients and leave everything as it is (an overflow of fp16)
};

class StepPlayer {
 public:
  StepPlayer(kernels::Kernels& kernels, device::Stream& stream, GroupFinder groups, SectionTimes& times)
      : kernels_(kernels), stream_(stream), groups_(std::move(groups)), times_(times) {}

  /// Plays all steps of a phase in order; `section` takes the compute seconds.
  void play(const LayerAddresses& layer, program::Phase phase, Section section);
  /// One compute step or collective.
  void play(const LayerAddresses& layer, const program::Step& step);
  /// A product and the step that follows it, as one call.
  void play(const LayerAddresses& layer, const program::Step& product, const program::Step& next,
            core::EpilogueKind kind);

  /// Beside the programs: what a pipeline message brought, to where it is kept.
  void copy(device::TensorView from, device::TensorView to) { kernels_.copy(stream_, from, to); }

  void set_update(const UpdateSettings& settings) { update_ = settings; }
  /// Factor on the gradient of the loss.
  void set_loss_scale(double scale);
  /// Transfers that a step starts and a later one waits for are made on that thread; without one they move
  /// when the message library is called.
  void set_ring(comm::Background* ring) { ring_ = ring; }
  /// Records collectives and waits of this thread, and transfers of the ring's; null: nothing is recorded.
  void set_trace(TraceLane* here, TraceLane* ring) {
    trace_ = here;
    ring_trace_ = ring;
  }
  /// What fills memory before it is used again; null for nothing.
  void set_poison(Poison* poison) { poison_ = poison; }
  /// Captures runs of compute steps of forward and backward; null: none.
  void set_graphs(StepGraphs* graphs) { graphs_ = graphs; }
  /// Called after every step, or run of steps that is given as a whole, so that messages under way move on
  /// while this rank computes.
  void set_progress(std::function<void()> progress) { progress_ = std::move(progress); }

  /// Hears before each collective which one it is and its number: the same on all members of a group, so that
  /// the rank whose number differs is the one that went astray.
  void set_pat(std::function<void(std::string_view)> pat) { pat_ = std::move(pat); }
  /// What the steps that follow belong to; said with the collective.
  void set_action(std::string_view action) { action_ = core::ShortText().add(action); }

  /// `watch` is shown every chunk of logits before the loss is made of it; an empty one ends that.
  using LogitsWatch = std::function<void(const kernels::CrossEntropyArgs&)>;
  void watch_logits(LogitsWatch watch) { watch_ = std::move(watch); }

 private:
  /// Compute steps from `begin` up to the next step that communicates, or the end; where that is.
  size_t play_run(const LayerAddresses& layer, program::Phase phase, size_t begin);
  void play_run(const LayerAddresses& layer, program::Phase phase, size_t begin, size_t end);
  void compute(const LayerAddresses& layer, const program::Step& step);
  void collective(const LayerAddresses& layer, const program::Step& step);
  void exchange(const LayerAddresses& layer, const program::Step& step, comm::Communicator& group);
  void start(comm::Communicator& group, int32_t ticket, device::TensorView in, device::TensorView out);
  void wait(int32_t ticket);
  void optimize(const LayerAddresses& layer, const program::Step& step);

  kernels::Kernels& kernels_;
  device::Stream& stream_;
  GroupFinder groups_;
  SectionTimes& times_;
  UpdateSettings update_;
  double loss_scale_ = 1.0;
  struct Transfer {
    comm::Communicator* group;
    device::TensorView in, out;
  };
  comm::Background* ring_ = nullptr;
  Poison* poison_ = nullptr;
  StepGraphs* graphs_ = nullptr;
  TraceLane *trace_ = nullptr, *ring_trace_ = nullptr;
  std::array<Transfer, 2> transfers_{};                                ///< by ticket
  std::array<comm::Pending, 2> pending_;                               ///< by ticket
  std::array<std::optional<comm::Background::Ticket>, 2> travelling_;  ///< by ticket, on the ring's thread
  LogitsWatch watch_;
  std::function<void(std::string_view)> pat_;
  core::ShortText action_;
  int64_t collectives_ = 0;  ///< begun so far
  std::function<void()> progress_ = [] {};
  std::vector<comm::Block> sends_, receives_;  // kept, so that an exchange allocates nothing
};

}  // namespace galvatron::runtime
