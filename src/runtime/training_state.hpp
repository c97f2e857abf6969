#pragma once
// What goes into a checkpoint of a training run and what must agree before one is taken up again.

#include "runtime/trainer.hpp"
#include "store/checkpoint.hpp"

namespace galvatron::runtime {

/// All that store::save_checkpoint() asks for. The pieces lie in the session.
struct TrainingSave {
  std::filesystem::path path;
  store::CheckpointState state;
  std::vector<store::TensorInfo> tensors;
  std::vector<store::Piece> pieces;
  store::CheckpointOptions options;
};

/// Whether the validation that was due at the step of a checkpoint is in the metrics or, cut short by a stop,
/// still owed by whoever goes on from there.
enum class ValidationDebt { none, owed };

ValidationDebt validation_debt_of(const store::CheckpointState& state);

/// Local: the state after `step`.
TrainingSave training_save(const TrainJob& job, Session& session, int64_t step, ValidationDebt validation);

/// Bytes of this rank's pieces of a checkpoint.
int64_t saved_bytes(const TrainJob& job, Session& session);

/// Where a checkpoint leaves a run.
struct Resumed {
  int64_t step = 0;
  ValidationDebt validation = ValidationDebt::none;
};

/// Collective: fills the session and returns where it stands. Throws core::AgreedError (checkpoint)
/// naming the key when the file is of another model, seed, data or batch, or a step past the deck's.
Resumed load_training_state(const TrainJob& job, Session& session, const std::filesystem::path& file);

/// Collective: fills the session's weights from any run's checkpoint of the same model and returns the step
/// they were saved at. Moments stay as they are: no step may follow. Throws core::AgreedError (checkpoint).
int64_t load_weights(Session& session, core::DType dtype, const std::filesystem::path& file);

/// Seconds since 1970.
double wall_clock();

}  // namespace galvatron::runtime
