// Every rank takes the same turns: whether a save is due, waited for or tried again never depends on how far
// this rank's own thread has come.
#include "runtime/saver.hpp"

#include <algorithm>
#include <utility>

#include "core/format.hpp"
#include "core/units.hpp"
#include "cost/plan_price.hpp"
#include "runtime/replicas.hpp"
#include "store/metrics.hpp"

namespace galvatron::runtime {
namespace {

/// Bytes per second and rank that a disk is trusted to take before any save was seen.
constexpr double slow_disk = 100e6;

}  // namespace

Saver::Saver(const TrainJob& job, Session& session, int64_t saved_at)
    : job_(job), session_(session), saved_at_(saved_at) {
  bytes_ = saved_bytes(job, session);
  if (job.deck.checkpoint.asynchronous) choose();
}

void Saver::choose() {
  int64_t taken = session_.stage().planned_bytes();
  const auto& predictions = job_.plan.predictions;
  if (!predictions.empty()) {
    const auto& mine = predictions[static_cast<size_t>(job_.plan.pipeline_rank_of(job_.world.rank()))];
    taken = std::max(taken, mine.memory_bytes - cost::copy_bytes(mine));
  }
  int64_t missing = job_.memory_bytes > 0 ? taken + bytes_ - job_.memory_bytes : 0;
  job_.world.all_reduce(std::span(&missing, 1), core::ReduceOp::max);
  if (missing <= 0) {
    writer_ = std::make_unique<store::CheckpointWriter>(job_.world, job_.device);
    return;
  }
  job_.log.info(core::format(
      "checkpoints are written between steps: copies to write from would need {} more memory per rank than "
      "there is",
      core::format_bytes(missing)));
}

void Saver::save(int64_t step, SaveUrgency urgency, ValidationDebt validation) {
  finish();
  if (saved_at_ == step) return;
  job_.pat(core::format("checkpoint of step {}", step));
  const Timed timed(session_.times(), Section::checkpoint);
  const Traced traced(session_.trace_lane(),
                      {.kind = TraceKind::checkpoint, .micro = static_cast<int32_t>(step)});
  check_replicas(session_);
  auto wanted = training_save(job_, session_, step, validation);
  under_way_ = saved_at_ = step;
  begun_ = now();
  const bool behind = writer_ && urgency == SaveUrgency::behind_steps;
  wanted.options.progress = behind ? job_.pat_beside : job_.pat;
  if (behind) {
    writer_->begin(wanted.path, wanted.state, wanted.tensors, wanted.pieces, wanted.options);
    stalled_ = now() - begun_;
  } else {
    take(store::save_checkpoint(job_.world, wanted.path, wanted.state, wanted.tensors, wanted.pieces,
                                wanted.options));
  }
}

void Saver::look() {
  if (!writer_) return;
  if (const auto report = writer_->poll()) take(*report);
}

void Saver::finish() {
  if (!writer_ || !writer_->in_flight()) return;
  job_.pat(core::format("wait for the checkpoint of step {}", under_way_));
  const Timed timed(session_.times(), Section::checkpoint);
  const auto begin = now();
  const auto report = writer_->wait();
  stalled_ += now() - begin;
  take(*report);
}

void Saver::take(const store::SaveReport& report) {
  const auto step = std::exchange(under_way_, -1);
  const bool behind = stalled_ > 0;
  const auto stalled = std::exchange(stalled_, 0.0);
  if (report.outcome == store::SaveOutcome::failed) {
    if (saved_at_ == step) saved_at_ = -1;
    const auto text =
        core::format("checkpoint of step {} failed, the previous one is kept: {}", step, report.problem);
    job_.log.warning(text);
    job_.note(store::event_line(step, "checkpoint failed", text));
    return;
  }
  if (!report.remark.empty()) job_.log.warning(report.remark);
  file_bytes_ = report.bytes;
  seconds_ = report.seconds;
  const auto rate = static_cast<double>(report.bytes) / std::max(report.seconds, 1e-9);
  auto text =
      core::format("checkpoint of step {}: {} in {} ({}/s)", step, core::format_bytes(report.bytes),
                   core::format_seconds(report.seconds), core::format_bytes(static_cast<int64_t>(rate)));
  if (behind) text += core::format(", steps waited {} for it", core::format_seconds(stalled));
  job_.log.info(text);
  job_.note(store::event_line(step, "checkpoint", text));
}

double Saver::reserved_seconds() const {
  const auto one = seconds_ > 0 ? seconds_ : static_cast<double>(bytes_) / slow_disk;
  const auto in_flight = writer_ && writer_->in_flight() ? std::max(0.0, one - (now() - begun_)) : 0.0;
  return 2.0 * one + in_flight;
}

}  // namespace galvatron::runtime
