// Each line is written at once: what a killed job had noted is there.

#include "app/events.hpp"

#include "app/phases.hpp"
#include "core/format.hpp"
#include "search/report.hpp"
#include "search/tasks.hpp"

namespace galvatron::app {
namespace {

store::MetricsLine candidate_line(std::string_view kind, const search::Candidate& candidate,
                                  std::string_view name, std::string_view remark) {
  auto line = store::event_line(0, kind, remark);
  const auto outline = search::outline(candidate.plan);
  line.text("plan", name.empty() ? outline : core::format("{}: {}", name, outline))
      .number("step_s", static_cast<double>(candidate.step_ns) * 1e-9)
      .number("samples_per_s", search::samples_per_second(candidate))
      .integer("memory_bytes", candidate.memory_bytes);
  return line;
}

}  // namespace

void append_event(const std::filesystem::path& file, const store::MetricsLine& line, core::Log& log) {
  try {
    store::MetricsFile(file).append(line);
  } catch (const core::Error& error) {
    log.warning(error.what());
  }
}

void note(Job& job, const store::MetricsLine& line) {
  if (job.world().rank() == 0) append_event(job.paths().events(), line, job.log());
}

void note(Job& job, std::string_view kind, std::string_view text) {
  note(job, store::event_line(0, kind, text));
}

void note_search(Job& job, const search::SearchResult& found) {
  note(job, "search",
       core::format("{} of {} tasks opened, {} of them fit", found.statistics.opened, found.statistics.tasks,
                    found.statistics.feasible));
  for (size_t i = 0; i < found.best.size(); ++i)
    note(job, candidate_line("candidate", found.best[i].candidate, "",
                             i == 0 ? "the best prediction" : found.best[i].loses));
  for (const auto& restricted : found.restricted) {
    if (restricted.best)
      note(job, candidate_line("restricted", *restricted.best, restricted.name, restricted.loses));
    else
      note(job,
           std::move(store::event_line(0, "restricted", restricted.why_not).text("plan", restricted.name)));
  }
}

void note_trial(Job& job, int64_t number, const Trial& trial) {
  auto line = store::event_line(0, "trial", search::outline(trial.plan));
  note(job, line.integer("number", number).number("step_s", trial.measured_seconds));
}

void note_exit(const std::filesystem::path& folder, core::ExitCode code, core::Log& log) {
  auto line = store::event_line(0, "exit", "the verb ended");
  append_event(store::RunPaths{folder}.events(), line.integer("exit", static_cast<int64_t>(code)), log);
}

void note_failure(const std::filesystem::path& folder, core::ExitCode code, std::string_view text,
                  core::Log& log) {
  auto line = store::event_line(0, code == core::ExitCode::requeue ? "stopped" : "failure", text);
  append_event(store::RunPaths{folder}.events(), line.integer("exit", static_cast<int64_t>(code)), log);
}

}  // namespace galvatron::app
