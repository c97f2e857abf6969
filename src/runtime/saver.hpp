#pragma once
// When the loop wants a checkpoint: between two steps or behind the next ones, and what came of it.

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/trainer.hpp"
#include "runtime/training_state.hpp"
#include "store/checkpoint_writer.hpp"

namespace galvatron::runtime {

/// Whether the save must be over when the call returns.
enum class SaveUrgency { behind_steps, at_once };

class Saver {
 public:
  /// Collective. What is given outlives it. Saves go behind the steps where checkpoint.asynchronous is on and
  /// the copies fit beside what the plan takes of `job.memory_bytes` on every rank. `saved_at`: the step of
  /// the checkpoint that the run goes on from, -1 when there is none.
  Saver(const TrainJob& job, Session& session, int64_t saved_at);

  /// Collective: saves the state after `step`, unless that was done. A save in flight is waited for first. A
  /// failing disk is a warning: the older file stays. Throws core::AgreedError (numerical), and saves
  /// nothing, where ranks hold different bits of what should be the same.
  void save(int64_t step, SaveUrgency urgency, ValidationDebt validation = ValidationDebt::none);
  /// Local, between two steps: reports a save that is over.
  void look();
  /// Collective: waits for the save in flight and reports it.
  void finish();

  /// Seconds to keep for the end of the job: twice the longest save so far, and the one in flight. Before the
  /// first, it is taken to be slow.
  double reserved_seconds() const;
  /// Of this rank, for the copies; 0 as long as none were made.
  int64_t copy_bytes() const { return writer_ ? writer_->copy_bytes() : 0; }
  double seconds() const { return seconds_; }
  int64_t file_bytes() const { return file_bytes_; }

 private:
  void choose();
  void take(const store::SaveReport& report);

  const TrainJob& job_;
  Session& session_;
  std::unique_ptr<store::CheckpointWriter> writer_;  ///< null: between steps
  int64_t saved_at_;
  int64_t under_way_ = -1;  ///< step of the save that take() has not heard of
  int64_t bytes_ = 0;       ///< of this rank's pieces
  double begun_ = 0;        ///< when the save in flight began
  double stalled_ = 0;      ///< seconds that it kept the steps waiting
  double seconds_ = 0;
  int64_t file_bytes_ = 0;
};

}  // namespace galvatron::runtime
