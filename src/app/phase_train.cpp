// Training with a plan, and the end table.

#include <algorithm>

#include "app/build_info.hpp"
#include "app/end_figures.hpp"
#include "app/end_table.hpp"
#include "app/events.hpp"
#include "app/phases.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "cost/plan_price.hpp"
#include "device/topology.hpp"
#include "store/checkpoint.hpp"
#include "store/checkpoint_folder.hpp"
#include "store/checkpoint_probe.hpp"

namespace galvatron::app {
namespace {

/// Where to go on from, the same on every rank. Throws core::AgreedError when a file was named and cannot be
/// used.
std::optional<std::filesystem::path> resume_point(Job& job) {
  const auto& resume = job.deck().train.resume;
  if (resume == "never") return std::nullopt;
  if (resume != "auto") return resume;
  const auto found = store::CheckpointFolder(job.paths().checkpoints()).newest_valid(job.world());
  for (const auto& rejected : found.rejected) job.log().warning(rejected);
  if (found.found()) return found.path;
  job.world().agree("", [&] {
    // Starting over by itself would throw away what a person might still save.
    if (!found.rejected.empty())
      throw core::UserError(
          core::ExitCode::checkpoint,
          core::format(
              "no checkpoint in {} can be read:\n  {}\nrepair or remove them, or choose another run.out",
              job.paths().checkpoints().string(), core::join(found.rejected, "\n  ")));
  });
  return std::nullopt;
}

/// The way to write checkpoints that works here. Throws core::AgreedError (environment) when none does.
store::CheckpointIo writable_way(Job& job) {
  job.pat("probe the checkpoint folder");
  const auto wanted = store::parse_checkpoint_io(job.deck().checkpoint.io);
  const auto probed = store::probe_checkpoint_io(job.world(), job.paths().checkpoints(), wanted);
  if (!probed.problem.empty())
    job.log().warning(core::format(
        "checkpoints are written with plain calls, as with checkpoint.io = aggregate: {}", probed.problem));
  return probed.io;
}

std::string_view name_of(runtime::StopReason reason) {
  switch (reason) {
    case runtime::StopReason::finished:
      return "";
    case runtime::StopReason::stop_after:
      return "stop_after";
    case runtime::StopReason::user:
      return "user";
    case runtime::StopReason::requeue:
      return "requeue";
  }
  return "";
}

/// The prediction for the fullest pipeline rank, with the copies that its checkpoints were written from; 0
/// without one.
int64_t predicted_peak(const plan::Plan& plan, const std::vector<int64_t>& copies) {
  int64_t peak = 0;
  for (size_t p = 0; p < plan.predictions.size(); ++p)
    peak =
        std::max(peak, plan.predictions[p].memory_bytes - cost::copy_bytes(plan.predictions[p]) + copies[p]);
  return peak;
}

/// The most of any process of each pipeline rank. Collective.
std::vector<int64_t> most_of_stages(comm::World& world, const plan::Plan& plan, int64_t mine) {
  const auto all = world.all_gather(mine);
  std::vector<int64_t> peaks(static_cast<size_t>(plan.pipeline_ranks()));
  for (size_t rank = 0; rank < all.size(); ++rank) {
    auto& most = peaks[static_cast<size_t>(plan.pipeline_rank_of(static_cast<int64_t>(rank)))];
    most = std::max(most, all[rank]);
  }
  return peaks;
}

/// The end of this attempt, for the report.
void note_end(Job& job, const runtime::TrainReport& report, const std::vector<report::SectionRow>& sections,
              const std::vector<int64_t>& peaks) {
  const auto how = name_of(report.stopped);
  auto end = store::event_line(report.steps, "end",
                               core::format("{} at step {}", how.empty() ? "finished" : how, report.steps));
  note(job, end.integer("resumed_from", report.resumed_from)
                .number("step_s", report.step_seconds)
                .number("tokens_per_s", report.tokens_per_second)
                .integer("peak_bytes", *std::max_element(peaks.begin(), peaks.end())));
  for (const auto& row : sections)
    note(job, store::event_line(report.steps, "section", row.name)
                  .number("least_s", row.least)
                  .number("mean_s", row.mean)
                  .number("most_s", row.most));
  for (const auto peak : peaks)
    note(job, store::event_line(report.steps, "memory", "").integer("peak_bytes", peak));
}

void show_end(Job& job, const plan::Plan& plan, const runtime::TrainReport& report,
              const std::vector<report::SectionRow>& sections, int64_t peak, int64_t predicted,
              double peak_flops) {
  auto& log = job.log();
  auto seconds = [](double s) { return core::format_seconds(s); };
  log.info("\nWhere the time went, over all ranks");
  log.info(section_table(sections));
  const auto flops = model_flops_per_step(job.model(), plan.batch);
  const auto per_rank =
      report.step_seconds > 0 ? flops / report.step_seconds / static_cast<double>(plan.world) : 0.0;
  log.info(core::format("{:<22} {:>14} {:>14}", "", "predicted", "measured"));
  log.info(core::format("{:<22} {:>14} {:>14}", "step",
                        plan.predicted_step_seconds > 0 ? seconds(plan.predicted_step_seconds) : "n/a",
                        seconds(report.step_seconds)));
  log.info(core::format("{:<22} {:>14} {:>14}", "memory, fullest rank",
                        predicted > 0 ? core::format_bytes(predicted) : "n/a", core::format_bytes(peak)));
  log.info(core::format("{:<22} {:>14} {:>14}", "arena of rank 0", core::format_bytes(report.planned_bytes),
                        core::format_bytes(report.high_water_bytes)));
  const auto utilisation = peak_flops > 0
                               ? core::format("{:.1f} % of the measured gemm peak of {:.1f} GFLOP/s",
                                              100.0 * per_rank / peak_flops, peak_flops / 1e9)
                               : std::string("utilisation n/a: no gemm peak was measured");
  log.info(core::format("{:.0f} tokens/s, {:.2f} GFLOP/s per rank, {}", report.tokens_per_second,
                        per_rank / 1e9, utilisation));
  if (report.checkpoint_seconds > 0)
    log.info(core::format("last checkpoint: {} in {}", core::format_bytes(report.checkpoint_bytes),
                          seconds(report.checkpoint_seconds)));
}

/// Trains; where memory runs out, says first what the plan wanted it for.
runtime::TrainReport trained(Job& job, const runtime::TrainJob& train) {
  try {
    return runtime::train(train);
  } catch (const core::AgreedError& error) {
    if (error.code() == core::ExitCode::out_of_memory) job.log().info(memory_text(train.plan));
    throw;
  }
}

/// Where the bar stands: the trainer asks for requests before every step.
struct Shown {
  int64_t step = 0, end = 0;
};

Shown shown_from(Job& job, const std::optional<std::filesystem::path>& from) {
  const auto& train = job.deck().train;
  Shown shown{0, train.stop_after > 0 ? std::min(train.stop_after, train.steps) : train.steps};
  if (from && job.world().rank() == 0) shown.step = store::read_state(*from).step;
  return shown;
}

core::ExitCode exit_code_of(const runtime::TrainReport& report) {
  return report.stopped == runtime::StopReason::requeue ? core::ExitCode::requeue : core::ExitCode::finished;
}

/// How far the run has come.
void set_progress(Result& result, const runtime::TrainReport& report) {
  result.set("steps", report.steps);
  result.set("resumed_from", report.resumed_from);
  result.set("stopped", name_of(report.stopped));
}

void set_figures(Job& job, const Data& data, const plan::Plan& plan, const runtime::TrainReport& report,
                 int64_t peak, int64_t predicted) {
  auto& result = job.context().result;
  result.set("steps", report.steps);
  result.set("loss", report.loss);
  if (report.valid_loss) result.set("valid_loss", *report.valid_loss);
  if (data.bigram_loss) result.set("bigram_loss", *data.bigram_loss);
  if (report.valid_loss && data.bigram_loss)
    job.log().info(core::format("validation loss {:.4f}, byte-bigram model {:.4f} nats", *report.valid_loss,
                                *data.bigram_loss));
  result.set("tokens_per_s", report.tokens_per_second);
  result.set("step_s", report.step_seconds);
  result.set("predicted_step_s", plan.predicted_step_seconds);
  result.set("peak_bytes", peak);
  result.set("predicted_peak_bytes", predicted);
  set_progress(result, report);
}

}  // namespace

core::ExitCode train_phase(Job& job, const Data& data, const plan::Plan& plan, const Before& before) {
  const auto from = resume_point(job);
  renew_kernels(job);
  Shown shown = shown_from(job, from);
  const runtime::TrainJob train{.deck = job.deck(),
                                .model = job.model(),
                                .plan = plan,
                                .world = job.world(),
                                .device = job.device(),
                                .kernels = job.kernels(),
                                .train_data = *data.train,
                                .valid_data = data.valid.get(),
                                .parts = data.parts,
                                .paths = job.paths(),
                                .run_id = job.run_id(),
                                .deck_text = job.deck_text(),
                                .plan_text = plan::to_toml(plan, job.model()),
                                .build_text = version_json(),
                                .io = writable_way(job),
                                .resume_from = from,
                                .requests =
                                    [&job, &shown] {
                                      job.log().bar(shown.step++, shown.end, "step");
                                      return job.take_requests();
                                    },
                                .seconds_left = [&job] { return job.seconds_left(); },
                                .pat = [&job](std::string_view action) { job.pat(action); },
                                .pat_beside = [&job](std::string_view action) { job.pat_beside(action); },
                                .memory_bytes = job.cluster().memory_bytes,
                                .note = [&job](const store::MetricsLine& line) { note(job, line); },
                                .log = job.log()};
  device::give_back_free_memory();
  measure::forget_peak_resident();
  job.log().info("\nTraining");
  note(job, "training", from ? "goes on from " + from->filename().string() : "begins");
  CostMeter cost(job);
  auto report = trained(job, train);
  job.log().end_bar();
  if (report.steps == report.resumed_from) {
    const bool validated = report.valid_loss || report.stopped == runtime::StopReason::requeue;
    job.log().info(core::format("the checkpoint has reached step {} already: nothing {}to do", report.steps,
                                validated ? "more " : ""));
    if (report.valid_loss) job.context().result.set("valid_loss", *report.valid_loss);
    set_progress(job.context().result, report);
    return exit_code_of(report);
  }
  for (const auto section : {runtime::Section::profile, runtime::Section::search})
    report.sections.add(section, before.sections.of(section));
  const auto sections = section_rows(job.world(), report.sections);
  const auto peaks = most_of_stages(job.world(), plan, job.peak_bytes());
  const auto peak = *std::max_element(peaks.begin(), peaks.end());
  const auto predicted = predicted_peak(plan, most_of_stages(job.world(), plan, report.copy_bytes));
  note_end(job, report, sections, peaks);
  show_end(job, plan, report, sections, peak, predicted, before.peak_flops);
  cost.report(static_cast<double>((report.steps - report.resumed_from) * plan.batch * job.model().seq));

  set_figures(job, data, plan, report, peak, predicted);
  return exit_code_of(report);
}

}  // namespace galvatron::app
