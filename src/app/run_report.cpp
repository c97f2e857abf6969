// A report is made of the run folder alone, so that it can be made again, later and elsewhere, also of a run
// that was killed.

#include "app/run_report.hpp"

#include <algorithm>
#include <map>

#include "app/alone.hpp"
#include "app/end_table.hpp"
#include "app/run_trace.hpp"
#include "core/form.hpp"
#include "core/format.hpp"
#include "core/hyphenated.hpp"
#include "core/units.hpp"
#include "deck/deck.hpp"
#include "measure/link_report.hpp"
#include "measure/profile_report.hpp"
#include "measure/report.hpp"
#include "report/page.hpp"
#include "store/json_lines.hpp"
#include "store/profile_file.hpp"
#include "store/run_folder.hpp"

namespace galvatron::app {
namespace {

namespace fs = std::filesystem;

constexpr int64_t most_metrics = 4000;
constexpr int64_t most_events = 20000;

/// The file's text, or nothing where there is none or it cannot be read.
std::string text_of(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return {};
  try {
    return read_text(file.string());
  } catch (const core::Error&) {
    return {};
  }
}

/// The model and the plan, where the folder has both and they fit.
void read_plan(const store::RunPaths& paths, report::RunValues& values) {
  values.deck_text = text_of(paths.deck());
  if (values.deck_text.empty()) return;
  try {
    const auto deck = deck::parse_deck(values.deck_text, paths.deck().string(), {});
    values.model = spec::model_from_deck(deck.model);
    values.head.push_back(
        {"model",
         core::format("{}: {} blocks, hidden {}, {} heads, vocab {}, seq {}; {} parameters, {}",
                      deck.model.family, deck.model.layers, deck.model.hidden, deck.model.heads,
                      deck.model.vocab, deck.model.seq, parameters_of(*values.model), deck.train.precision)});
    const auto text = text_of(paths.plan());
    if (text.empty()) return;
    values.plan = plan::plan_from_toml(text, paths.plan().string(), *values.model);
    if (!plan::faults_of(*values.plan, *values.model, values.plan->world).empty()) values.plan.reset();
  } catch (const core::Error&) {
    values.plan.reset();
  }
}

void read_profile(const store::RunPaths& paths, report::RunValues& values) {
  std::error_code ignored;
  if (!fs::exists(paths.profile(), ignored)) return;
  try {
    auto profile = store::read_profile(paths.profile());
    for (const auto& [key, curve] : profile.hardware.collectives) {
      values.collectives.push_back({core::hyphenated(core::name_of(key.kind)), report::text_of(key.shape),
                                    measure::bus_factor(key.kind, key.shape.ranks), curve});
    }
    values.verdicts = measure::verdict_lines(profile.hardware);
    values.link_changes = measure::link_change_lines(profile.hardware);
    values.counters = measure::counter_rows(profile.model);
    values.counters_missing = profile.model.counters_missing;
    values.coverage = std::move(profile.coverage);
    values.hardware = std::move(profile.hardware);
  } catch (const core::Error&) {
    values.hardware.reset();
  }
}

/// Events that are parts of others, for the pictures only.
bool is_part(const std::string& kind) {
  return kind == "candidate" || kind == "restricted" || kind == "trial" || kind == "section" ||
         kind == "memory" || kind == "exit";
}

/// How the attempts of a run ended: one that says nothing before the next one begins was killed.
class Attempts {
 public:
  /// An event that the page should list before this one.
  std::optional<report::Event> take(const store::JsonLine& line, const std::string& kind) {
    std::optional<report::Event> lost;
    if (kind == "attempt") {
      if (open_)
        lost = report::Event{line.number("time"), last_step_, "lost",
                             "the attempt before ended without a word: it was killed, or its node was lost"};
      lost_ += open_ ? 1 : 0;
      ++attempts_;
      open_ = true;
    }
    if (kind == "failure") ++failures_;
    if (kind == "failure" || kind == "stopped" || kind == "end" || kind == "exit") open_ = false;
    last_step_ = static_cast<int64_t>(line.number("step"));
    return lost;
  }
  std::string text() const {
    return core::format("{}, of which {} failed and {} were killed", attempts_, failures_, lost_);
  }
  int64_t count() const { return attempts_; }

 private:
  int64_t attempts_ = 0, failures_ = 0, lost_ = 0, last_step_ = 0;
  bool open_ = false;
};

report::Candidate candidate_of(const store::JsonLine& line) {
  return {.outline = line.text("plan"),
          .step_seconds = line.number("step_s"),
          .samples_per_second = line.number("samples_per_s"),
          .memory_bytes = static_cast<int64_t>(line.number("memory_bytes")),
          .trial_seconds = 0,
          .remark = line.text("text")};
}

void read_end(const store::JsonLine& line, report::RunValues& values) {
  values.ending = report::Ending{.steps = static_cast<int64_t>(line.number("step")),
                                 .resumed_from = static_cast<int64_t>(line.number("resumed_from")),
                                 .step_seconds = line.number("step_s"),
                                 .tokens_per_second = line.number("tokens_per_s"),
                                 .peak_bytes = static_cast<int64_t>(line.number("peak_bytes"))};
}

/// Facts of the attempt that the page begins with.
void read_attempt(const store::JsonLine& line, report::RunValues& values, std::vector<report::Fact>& head) {
  values.failure.clear();
  head.clear();
  for (const char* key : {"command", "hosts", "ranks", "threads", "processor", "device", "version"})
    if (const auto text = line.text(key); !text.empty()) head.push_back({key, text});
  values.memory_limit = static_cast<int64_t>(line.number("memory_bytes"));
  if (values.memory_limit > 0)
    head.push_back({"memory", core::format_bytes(values.memory_limit) + " per rank"});
}

/// Events in their order: a later attempt replaces what it does again.
std::vector<report::Fact> read_events(const store::RunPaths& paths, report::RunValues& values) {
  std::vector<report::Fact> head;
  Attempts attempts;
  for (const auto& line : store::read_json_lines(paths.events(), most_events).lines) {
    const auto kind = line.text("event");
    if (const auto lost = attempts.take(line, kind)) values.events.push_back(*lost);
    if (kind == "attempt") read_attempt(line, values, head);
    if (kind == "training") values.ending.reset();
    if (kind == "search") values.candidates.clear(), values.restricted.clear();
    if (kind == "candidate") values.candidates.push_back(candidate_of(line));
    if (kind == "restricted") values.restricted.push_back(candidate_of(line));
    if (kind == "end") read_end(line, values);
    if (kind == "failure") values.failure = line.text("text");
    if (kind == "trial") {
      const auto number = static_cast<size_t>(std::max(0.0, line.number("number")));
      if (number < values.candidates.size()) values.candidates[number].trial_seconds = line.number("step_s");
    }
    if (kind == "section" && values.ending)
      values.ending->sections.push_back(
          {line.text("text"), line.number("least_s"), line.number("mean_s"), line.number("most_s")});
    if (kind == "memory" && values.ending)
      values.ending->pipeline_rank_bytes.push_back(static_cast<int64_t>(line.number("peak_bytes")));
    if (!is_part(kind))
      values.events.push_back(
          {line.number("time"), static_cast<int64_t>(line.number("step")), kind, line.text("text")});
  }
  if (attempts.count() > 1) head.push_back({"attempts", attempts.text()});
  return head;
}

void read_metrics(const store::RunPaths& paths, report::RunValues& values) {
  auto read = store::read_json_lines(paths.metrics(), most_metrics);
  values.metrics_left_out = read.left_out;
  for (const auto& line : read.lines) {
    report::Metric metric{
        static_cast<int64_t>(line.number("step")), line.number("loss"), {}, line.number("step_s")};
    if (line.has("valid_loss")) metric.valid_loss = line.number("valid_loss");
    if (line.has("loss")) values.metrics.push_back(metric);
  }
}

}  // namespace

report::RunValues read_run(const fs::path& folder, ProfileUse profile) {
  const store::RunPaths paths{folder};
  report::RunValues values;
  const auto name = fs::absolute(folder).lexically_normal();
  values.title = "galvatron run " + (name.has_filename() ? name : name.parent_path()).filename().string();
  read_plan(paths, values);
  const auto head = read_events(paths, values);
  values.head.insert(values.head.begin(), head.begin(), head.end());
  values.head.insert(values.head.begin(), {"folder", folder.string()});
  if (!values.events.empty()) values.head.push_back({"began", report::date_text(values.events.front().time)});
  if (values.events.size() > 1)
    values.head.push_back({"last event", report::date_text(values.events.back().time)});
  if (values.failure.empty()) values.failure = text_of(paths.failure());
  if (profile == ProfileUse::read) read_profile(paths, values);
  values.search_text = text_of(paths.search());
  read_metrics(paths, values);
  values.measured_step = last_traced_step(paths.trace());
  return values;
}

void write_report(const fs::path& folder, core::Log& log, ProfileUse profile) {
  const auto file = store::RunPaths{folder}.report();
  try {
    auto unfinished = file;
    unfinished += ".tmp";
    write_text(unfinished.string(), report::page(read_run(folder, profile)));
    fs::rename(unfinished, file);
  } catch (const std::exception& error) {
    log.warning(core::format("no report: {}", error.what()));
  }
}

}  // namespace galvatron::app
