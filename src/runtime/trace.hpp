#pragma once
// What every thread of this rank did and when: slices in rings of fixed size, so that recording the last
// steps of a run costs two looks at the clock per slice and no memory. trace_file.hpp makes a file of them.

#include <cstdint>
#include <vector>

#include "plan/lowering.hpp"
#include "runtime/sections.hpp"

namespace galvatron::runtime {

enum class TraceKind : uint8_t {
  step,        ///< `micro` is its number, counted from 1 over the whole run
  forward,     ///< one micro-batch through one chunk
  backward,    ///< likewise
  layer,       ///< `detail` is a program::Phase; transitions have no layer
  collective,  ///< `detail` is a core::CollectiveKind
  transfer,    ///< one turn of keys and values around the ring
  send,        ///< a pipeline message starts; `stage` is its channel, `peer` where it goes
  receive,     ///< a pipeline message is waited for, likewise
  wait,        ///< for what was started earlier: buffers, gathers, reductions, the ring
  data,        ///< tokens and labels
  norm,        ///< squares of gradients
  agree,       ///< loss, gradient norm and requests over all ranks
  update,      ///< optimizer, with the gathers after it
  evaluate,
  checkpoint,
};

/// Numbers that a kind does not have are −1. Seconds are of this rank's clock (`now()`).
struct TraceSlice {
  double begin = 0, end = 0;
  TraceKind kind = TraceKind::step;
  uint8_t detail = 0;
  int32_t layer = -1;  ///< of the model
  int32_t micro = -1, stage = -1, peer = -1;
};

/// The slices of one thread in the order in which they ended. One thread writes.
class TraceLane {
 public:
  /// Keeps the last `capacity` slices.
  explicit TraceLane(int64_t capacity) : ring_(static_cast<size_t>(capacity)) {}

  void put(const TraceSlice& slice) {
    if (!recording_) return;
    ring_[static_cast<size_t>(written_ % static_cast<int64_t>(ring_.size()))] = slice;
    ++written_;
  }
  /// While off, nothing is kept. The writing thread is idle.
  void record(bool on) { recording_ = on; }
  /// Those kept, oldest first.
  std::vector<TraceSlice> slices() const;
  /// Whether older ones were overwritten.
  bool full() const { return written_ > static_cast<int64_t>(ring_.size()); }
  int64_t written() const { return written_; }

 private:
  std::vector<TraceSlice> ring_;
  int64_t written_ = 0;
  bool recording_ = true;
};

/// The threads of a rank that a trace shows.
struct Trace {
  /// Room for `steps` steps of the program, within a bound of about 8 MiB per thread.
  Trace(const plan::StageProgram& program, int64_t steps);
  /// Room for so many slices of each thread.
  explicit Trace(int64_t slices) : compute(slices), state(slices), ring(slices) {}

  void record(bool on) {
    for (auto* lane : {&compute, &state, &ring}) lane->record(on);
  }

  TraceLane compute;
  TraceLane state;  ///< gathers and reductions beside compute
  TraceLane ring;   ///< context-parallel transfers beside compute
};

/// Records its own life; nothing without a lane.
class Traced {
 public:
  Traced(TraceLane* lane, const TraceSlice& slice) : lane_(lane) {
    if (lane_ == nullptr) return;
    slice_ = slice;
    slice_.begin = now();
  }
  ~Traced() {
    if (lane_ == nullptr) return;
    slice_.end = now();
    lane_->put(slice_);
  }
  Traced(const Traced&) = delete;
  Traced& operator=(const Traced&) = delete;

 private:
  TraceLane* lane_;
  TraceSlice slice_;
};

}  // namespace galvatron::runtime
