// A resume that would differ silently is refused; another plan or another number of ranks is welcome.

#include "runtime/training_state.hpp"

#include <chrono>
#include <cstdlib>
#include <sstream>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "runtime/snapshot.hpp"
#include "store/checkpoint_folder.hpp"

namespace galvatron::runtime {
namespace {

constexpr const char* data_key = "data_fingerprint";
constexpr const char* batch_key = "batch";
constexpr const char* validation_key = "validation";  // absent: not owed
constexpr const char* scale_key = "loss_scale";

void write_loss_scale(const LossScale& scale, store::CheckpointState& state) {
  state.more[scale_key] = core::format("{:a} {} {} {}", scale.factor, scale.steps_without_overflow,
                                       scale.skipped_in_a_row, scale.skipped);
}

/// `fresh` when the file was made in another precision.
LossScale read_loss_scale(const store::CheckpointState& state, const LossScale& fresh) {
  const auto found = state.more.find(scale_key);
  if (found == state.more.end()) return fresh;
  LossScale scale;
  std::istringstream text(found->second);
  std::string factor;
  text >> factor >> scale.steps_without_overflow >> scale.skipped_in_a_row >> scale.skipped;
  scale.factor = std::strtod(factor.c_str(), nullptr);
  return scale;
}

void require(bool same, const std::filesystem::path& file, const std::string& key, const std::string& saved,
             const std::string& now) {
  if (same) return;
  throw core::UserError(
      core::ExitCode::checkpoint,
      core::format(
          "{} cannot be used with this deck: {} was {} and is {} now; use the deck it was made with, or "
          "another run.out",
          file.string(), key, saved, now));
}

void check_state(const TrainJob& job, const store::CheckpointState& state,
                 const std::filesystem::path& file) {
  const auto model = spec::fingerprint(job.model), data = job.train_data.fingerprint();
  require(state.model_fingerprint == model, file, "the model ([model])", state.model_fingerprint, model);
  require(state.seed == job.deck.run.seed, file, "run.seed", std::to_string(state.seed),
          std::to_string(job.deck.run.seed));
  const auto saved = [&](const char* key) {
    const auto found = state.more.find(key);
    return found == state.more.end() ? std::string("absent") : found->second;
  };
  require(saved(data_key) == data, file, "the training data ([data])", saved(data_key), data);
  require(saved(batch_key) == std::to_string(job.plan.batch), file, "the batch (search.batch)",
          saved(batch_key), std::to_string(job.plan.batch));
  require(state.step <= job.deck.train.steps, file, "its step lies past train.steps: it",
          std::to_string(state.step), std::to_string(job.deck.train.steps));
}

}  // namespace

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

ValidationDebt validation_debt_of(const store::CheckpointState& state) {
  return state.more.contains(validation_key) ? ValidationDebt::owed : ValidationDebt::none;
}

TrainingSave training_save(const TrainJob& job, Session& session, int64_t step, ValidationDebt validation) {
  TrainingSave save;
  auto& state = save.state;
  state.step = step;
  state.samples = step * job.plan.batch;
  state.seed = job.deck.run.seed;
  state.run = job.run_id;
  state.deck = job.deck_text;
  state.plan = job.plan_text;
  state.build = job.build_text;
  state.model_fingerprint = spec::fingerprint(job.model);
  state.more[data_key] = job.train_data.fingerprint();
  state.more[batch_key] = std::to_string(job.plan.batch);
  if (validation == ValidationDebt::owed) state.more[validation_key] = "owed";
  if (scales_loss(job.deck.train)) write_loss_scale(session.loss_scale(), state);
  save.tensors = tensors_of(job.model, dtype_of(job.deck.train));
  save.pieces = pieces_of(session.stage(), job.model, save.tensors, SnapshotUse::saving);
  save.options.io = job.io;
  save.options.keep = job.deck.checkpoint.keep;
  save.options.keep_every = job.deck.checkpoint.keep_every;
  save.options.window = &session.window();
  save.path = store::CheckpointFolder(job.paths.checkpoints()).file_of(step);
  return save;
}

int64_t saved_bytes(const TrainJob& job, Session& session) {
  const auto tensors = tensors_of(job.model, dtype_of(job.deck.train));
  int64_t bytes = 0;
  for (const auto& piece : pieces_of(session.stage(), job.model, tensors, SnapshotUse::saving))
    bytes += piece.elements() * core::size_of(tensors[static_cast<size_t>(piece.tensor)].dtype);
  return bytes;
}

Resumed load_training_state(const TrainJob& job, Session& session, const std::filesystem::path& file) {
  store::CheckpointState state;
  job.world.agree("look at the checkpoint", [&] {
    state = store::read_state(file);
    check_state(job, state, file);
  });
  const auto tensors = tensors_of(job.model, dtype_of(job.deck.train));
  const auto pieces = pieces_of(session.stage(), job.model, tensors, SnapshotUse::loading);
  store::load_checkpoint(job.world, file, tensors, pieces, &session.window());
  session.restore();
  if (scales_loss(job.deck.train)) session.set_loss_scale(read_loss_scale(state, session.loss_scale()));
  return {state.step, validation_debt_of(state)};
}

int64_t load_weights(Session& session, core::DType dtype, const std::filesystem::path& file) {
  store::CheckpointState state;
  session.world().agree("look at the checkpoint", [&] {
    state = store::read_state(file);
    const auto model = spec::fingerprint(session.model());
    require(state.model_fingerprint == model, file, "the model ([model])", state.model_fingerprint, model);
  });
  const auto tensors = tensors_of(session.model(), dtype);
  auto pieces = pieces_of(session.stage(), session.model(), tensors, SnapshotUse::loading);
  std::erase_if(pieces, [&](const store::Piece& piece) {
    return !tensors[static_cast<size_t>(piece.tensor)].name.starts_with("model/");
  });
  store::load_checkpoint(session.world(), file, tensors, pieces, &session.window());
  session.restore();
  return state.step;
}

}  // namespace galvatron::runtime
