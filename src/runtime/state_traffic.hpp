#pragma once
// Parameters coming in and gradients going out, beside the compute of other layers: ZeRO-3's gathers are
// started one layer ahead, reductions run while backward goes on. Programs keep these steps in phases of
// their own; this decides when and on which thread they are played. Turned off, they are played in place: the
// same calls in the same order, so the same bits.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm/background.hpp"
#include "runtime/stage.hpp"
#include "runtime/step_player.hpp"

namespace galvatron::runtime {

/// on: communication goes on while the next actions are computed. off: it is waited for where it starts. The
/// same bits either way.
enum class Overlap : uint8_t { off, on };

/// What may run beside compute.
struct OverlapSettings {
  Overlap pipeline = Overlap::on;    ///< messages between stages
  Overlap gradients = Overlap::on;   ///< reductions during backward
  Overlap parameters = Overlap::on;  ///< ZeRO-3 gathers, one layer ahead
  Overlap ring = Overlap::on;        ///< keys, values and their gradients around the context-parallel ring
};

class StateTraffic {
 public:
  /// `here` plays what does not run beside compute, `beside` what does, on a thread of its own: nobody else
  /// uses it.
  StateTraffic(Stage& stage, StepPlayer& here, StepPlayer& beside, SectionTimes& times,
               const OverlapSettings& settings);

  /// Records waits, and what is done beside; null: nothing is recorded.
  void set_trace(TraceLane* here, TraceLane* beside) {
    trace_ = here;
    beside_trace_ = beside;
  }

  /// The layer's parameters are in memory afterwards, and those of the next layer that gathers on their way.
  void gather(size_t layer, program::Phase gather);
  /// Before a phase that writes gradients which `reduce` will take: their buffer is free afterwards.
  void claim_gradients(size_t layer, program::Phase reduce);
  /// After it.
  void reduce(size_t layer, program::Phase reduce);
  /// Everything that was started has ended.
  void drain();

 private:
  struct Ahead {
    size_t layer;
    program::Phase phase;
    comm::Background::Ticket ticket;
  };

  void find_neighbours(const plan::Chunk& chunk);
  bool has(size_t layer, program::Phase phase) const;
  comm::Background::Ticket start(size_t layer, program::Phase phase);
  void wait(comm::Background::Ticket ticket);
  void play_now(size_t layer, program::Phase phase);
  TraceSlice slice_of(size_t layer, program::Phase phase) const;

  Stage& stage_;
  StepPlayer &here_, &beside_;
  SectionTimes& times_;
  OverlapSettings settings_;
  TraceLane *trace_ = nullptr, *beside_trace_ = nullptr;
  /// Per layer the next one of its chunk that gathers: forward goes up, backward down.
  std::vector<std::optional<size_t>> above_, below_;
  std::optional<Ahead> ahead_;
  std::array<std::optional<comm::Background::Ticket>, 2> reducing_;  ///< by buffer
  comm::Background background_;  // last: it ends before what its tasks use
};

}  // namespace galvatron::runtime
