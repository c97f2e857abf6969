// The loop, in the order in which things happen between two steps: log, evaluate, save, stop.

#include "runtime/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "runtime/replicas.hpp"
#include "runtime/saver.hpp"
#include "runtime/trace_file.hpp"
#include "runtime/training_state.hpp"
#include "runtime/validation.hpp"
#include "store/file.hpp"
#include "store/metrics.hpp"

namespace galvatron::runtime {
namespace {

/// Windows evaluated at most; beyond them the loss changes in the third digit only.
constexpr int64_t most_validation_windows = 512;

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// "pipeline_wait_s" of "pipeline wait".
std::string key_of(Section section) {
  std::string key(name_of(section));
  std::replace(key.begin(), key.end(), ' ', '_');
  return key + "_s";
}

class Loop {
 public:
  explicit Loop(const TrainJob& job);
  TrainReport run();

 private:
  Request wanted() const;
  std::optional<double> validate(Request& request);
  void write_metrics(const store::MetricsLine& line);
  void log_step(const StepResult& result, std::optional<double> valid_loss);
  bool validation_due() const;
  bool make_up_validation();
  bool stops(Request request);
  void play();
  bool after_step(const StepResult& result);

  const TrainJob& job_;
  const deck::TrainSection& train_;
  Session session_;
  store::BlendOrder order_;
  Loader loader_;
  std::optional<TraceWriter> trace_writer_;
  std::optional<store::MetricsFile> metrics_;  // rank 0
  bool metrics_wait_ = false;                  ///< the disk took no line when it was last asked
  TrainReport report_;
  std::vector<double> step_seconds_;
  int64_t step_ = 0;  ///< steps taken
  int64_t end_ = 0;
  ValidationDebt validation_ = ValidationDebt::none;  ///< of this step
  std::optional<Saver> saver_;
  double interval_seconds_ = 0;  ///< in steps since the last line: evaluation and saving are not steps
  int64_t interval_step_ = 0;
  double interval_data_wait_ = 0;
};

OverlapSettings overlap_of(const deck::TrainSection& train) {
  const auto wish = [](bool on) { return on ? Overlap::on : Overlap::off; };
  return {wish(train.overlap_pipeline), wish(train.overlap_gradients), wish(train.overlap_parameters),
          wish(train.overlap_ring)};
}

SessionOptions session_options(const TrainJob& job) {
  SessionOptions options;
  options.dtype = dtype_of(job.deck.train);
  options.loss_scale = initial_loss_scale(job.deck.train);
  options.seed = static_cast<uint64_t>(job.deck.run.seed);
  options.overlap = overlap_of(job.deck.train);
  options.graphs = job.deck.train.graphs ? Graphs::on : Graphs::off;
  options.note = [&log = job.log](const std::string& text) { log.info(text); };
  options.pat = job.pat;
  // A device's work is queued, so the host's clock says nothing about it.
  if (job.device.kind() == device::DeviceKind::cpu) options.trace_steps = job.deck.run.trace;
  return options;
}

std::vector<store::BlendPart> parts_of(const TrainJob& job) {
  if (!job.parts.empty()) return job.parts;
  return {{0, job.train_data.tokens(), 1.0}};
}

Loop::Loop(const TrainJob& job)
    : job_(job),
      train_(job.deck.train),
      session_(job.world, job.device, job.kernels, job.plan, job.model, session_options(job)),
      order_(static_cast<uint64_t>(job.deck.run.seed), parts_of(job), job.model.seq, "data.train"),
      loader_(
          job.train_data, [this](int64_t sample) { return order_.offset_of(sample); }, job.plan, job.model,
          job.world.rank()) {
  if (session_.trace() != nullptr) trace_writer_.emplace(job.world);
  end_ = train_.stop_after > 0 ? std::min(train_.stop_after, train_.steps) : train_.steps;
  if (job.resume_from) {
    const auto resumed = load_training_state(job, session_, *job.resume_from);
    report_.resumed_from = step_ = resumed.step;
    validation_ = resumed.validation;
    const auto text = core::format("resumed from {} at step {}", job.resume_from->string(), step_);
    job.log.info(text);
    job.note(store::event_line(step_, "resume", text));
  }
  saver_.emplace(job, session_, job.resume_from ? step_ : -1);
  if (job.world.rank() != 0) return;
  const auto cut = store::truncate_metrics(job.paths.metrics(), step_);
  if (!cut.empty()) job.log.info(core::format("metrics after step {} moved to {}", step_, cut.string()));
  metrics_.emplace(job.paths.metrics());
}

Request Loop::wanted() const {
  auto request = job_.requests();
  if (job_.seconds_left) {
    const auto need = saver_->reserved_seconds() + (step_seconds_.empty() ? 0.0 : step_seconds_.back());
    if (job_.seconds_left() < need) request = Request::stop_requeue;
  }
  return request;
}

/// The loss; nothing when a stop cut it short. What was asked meanwhile is added to `request`.
std::optional<double> Loop::validate(Request& request) {
  const auto windows = validation_windows(*job_.valid_data, job_.model.seq);
  const auto validation = validation_loss(session_, *job_.valid_data, windows, [this] { return wanted(); });
  request = std::max(request, validation.request);
  validation_ = validation.cut_short() ? ValidationDebt::owed : ValidationDebt::none;
  if (!validation.cut_short()) return report_.valid_loss = validation.loss;
  job_.log.info(core::format("validation of step {} was cut short: asked to stop", step_));
  return std::nullopt;
}

bool Loop::validation_due() const {
  const bool now = train_.eval_every > 0 && step_ % train_.eval_every == 0;
  return job_.valid_data != nullptr && (now || step_ == train_.steps);
}

/// What a stop kept the attempt before from, so that the metrics are those of a run that was left alone. True
/// when the loop goes on.
bool Loop::make_up_validation() {
  if (std::exchange(validation_, ValidationDebt::none) == ValidationDebt::none || !validation_due())
    return true;
  auto request = Request::none;
  if (const auto loss = validate(request)) {
    job_.log.info(
        core::format("validation of step {}, which a stop had cut short: valid {:.4f}", step_, *loss));
    if (metrics_)
      store::amend_metrics(job_.paths.metrics(), step_, store::MetricsLine(step_).exact("valid_loss", *loss));
  }
  return !stops(request);
}

/// Whether a stop was asked for, which the report then says.
bool Loop::stops(Request request) {
  if (request == Request::stop_user) report_.stopped = StopReason::user;
  if (request == Request::stop_requeue) report_.stopped = StopReason::requeue;
  return request >= Request::stop_user;
}

/// A disk that is full for a while costs no run, and its lines come late.
void Loop::write_metrics(const store::MetricsLine& line) {
  try {
    metrics_->append(line);
    metrics_wait_ = false;
  } catch (const store::DiskError& error) {
    if (!std::exchange(metrics_wait_, true))
      job_.log.warning(core::format("{}; lines wait in memory until there is room", error.what()));
  }
}

void Loop::log_step(const StepResult& result, std::optional<double> valid_loss) {
  const auto steps = step_ - interval_step_;
  const auto seconds = interval_seconds_ / static_cast<double>(std::max<int64_t>(1, steps));
  const auto data_wait = session_.times().of(Section::data_wait) - interval_data_wait_;
  const auto tokens = static_cast<double>(job_.plan.batch * job_.model.seq);
  if (metrics_) {
    store::MetricsLine line(step_);
    line.exact("loss", result.loss).exact("grad_norm", result.gradient_norm).number("lr", result.lr);
    line.integer("tokens", step_ * job_.plan.batch * job_.model.seq).number("tokens_per_s", tokens / seconds);
    line.number("step_s", seconds)
        .number("predicted_step_s", job_.plan.predicted_step_seconds)
        .number("data_wait_s", data_wait);
    line.integer("peak_bytes", session_.stage().high_water_bytes()).number("time", wall_clock());
    if (valid_loss) line.exact("valid_loss", *valid_loss);
    for (const auto section : {Section::forward, Section::backward, Section::tensor_parallel,
                               Section::pipeline_wait, Section::gradient_sync, Section::optimizer})
      line.number(key_of(section), session_.times().of(section));
    write_metrics(line);
  }
  const auto left = seconds * static_cast<double>(end_ - step_);
  job_.log.info(core::format(
      "step {:>5}/{}  loss {:.4f}  grad {:.3f}  lr {:.2e}  {:.0f} tokens/s  step {} (predicted {})  data "
      "{:.0f} %  left {}{}",
      step_, end_, result.loss, result.gradient_norm, result.lr, tokens / seconds,
      core::format_seconds(seconds), core::format_seconds(job_.plan.predicted_step_seconds),
      100.0 * data_wait / (seconds * static_cast<double>(std::max<int64_t>(1, steps))),
      core::format_seconds(left), valid_loss ? core::format("  valid {:.4f}", *valid_loss) : ""));
  interval_seconds_ = 0;
  interval_step_ = step_;
  interval_data_wait_ = session_.times().of(Section::data_wait);
}

/// True when the loop goes on.
bool Loop::after_step(const StepResult& result) {
  auto request = result.request;
  auto due = [&](int64_t every) { return every > 0 && step_ % every == 0; };
  if (due(train_.check_replicas_every)) {
    job_.pat(core::format("compare the replicas of step {}", step_));
    check_replicas(session_);
  }
  std::optional<double> valid;
  if (validation_due()) valid = validate(request);
  const bool last = stops(request) || step_ == end_;
  if (last || valid || due(train_.log_every)) log_step(result, valid);
  saver_->look();
  if (last || due(job_.deck.checkpoint.every) || request == Request::save)
    saver_->save(step_, last ? SaveUrgency::at_once : SaveUrgency::behind_steps,
                 std::exchange(validation_, ValidationDebt::none));
  return !last;
}

void Loop::play() {
  bool more = make_up_validation();
  while (more && step_ < end_) {
    loader_.seek(step_ * job_.plan.batch);
    const auto result = session_.step(loader_, train_, step_, wanted());
    ++step_;
    step_seconds_.push_back(result.seconds);
    interval_seconds_ += result.seconds;
    report_.loss = result.loss;
    if (result.skipped)
      job_.log.warning(core::format("step {} skipped: a gradient overflowed at loss scale {}; it is {} now",
                                    step_, result.loss_scale, session_.loss_scale().factor));
    more = after_step(result);
  }
  saver_->finish();
}

TrainReport Loop::run() {
  const auto begin = now();
  interval_step_ = step_;
  step_seconds_.reserve(static_cast<size_t>(std::max<int64_t>(0, end_ - step_)));
  try {
    play();
  } catch (const core::AgreedError&) {
    saver_->finish();  // all ranks are here, and what was good before the failure is worth keeping
    throw;
  }
  if (report_.stopped == StopReason::finished && step_ < train_.steps)
    report_.stopped = StopReason::stop_after;
  report_.steps = step_;
  report_.step_seconds = median(step_seconds_);
  if (report_.step_seconds > 0)
    report_.tokens_per_second = static_cast<double>(job_.plan.batch * job_.model.seq) / report_.step_seconds;
  report_.planned_bytes = session_.stage().planned_bytes();
  report_.high_water_bytes = session_.stage().high_water_bytes();
  report_.copy_bytes = saver_->copy_bytes();
  report_.checkpoint_bytes = saver_->file_bytes();
  report_.checkpoint_seconds = saver_->seconds();
  report_.sections = session_.times();
  report_.wall_seconds = now() - begin;
  if (trace_writer_)
    trace_writer_->write(job_.paths.trace(), *session_.trace(), job_.deck.run.trace, job_.model, job_.log);
  return report_;
}

}  // namespace

core::DType dtype_of(const deck::TrainSection& train) {
  if (train.precision == "fp64") return core::DType::f64;
  if (train.precision == "bf16") return core::DType::bf16;
  return train.precision == "fp16" ? core::DType::f16 : core::DType::f32;
}

int64_t validation_windows(const store::Dataset& data, int64_t seq) {
  return std::min(most_validation_windows, data.tokens() / (seq + 1));
}

TrainReport train(const TrainJob& job) {
  return Loop(job).run();
}

}  // namespace galvatron::runtime
