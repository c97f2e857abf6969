#pragma once
// events.jsonl: what happened to a run, attempt after attempt, so that a report can be made of the folder
// alone. docs/files.md lists the kinds.

#include <filesystem>
#include <string_view>

#include "core/errors.hpp"
#include "core/log.hpp"
#include "search/search.hpp"
#include "store/metrics.hpp"

namespace galvatron::app {

class Job;
struct Trial;

/// Adds a line; a disk that fails costs the line and a warning.
void append_event(const std::filesystem::path& file, const store::MetricsLine& line, core::Log& log);

/// The same for a job's folder, on rank 0.
void note(Job& job, const store::MetricsLine& line);
void note(Job& job, std::string_view kind, std::string_view text);

/// What the search found, a line for each plan.
void note_search(Job& job, const search::SearchResult& found);
/// What a trial measured of plan `number` of the search's best.
void note_trial(Job& job, int64_t number, const Trial& trial);

/// That a verb ended in order: an attempt without such a line, a failure or an end was killed.
void note_exit(const std::filesystem::path& folder, core::ExitCode code, core::Log& log);

/// How a verb ended that threw.
void note_failure(const std::filesystem::path& folder, core::ExitCode code, std::string_view text,
                  core::Log& log);

}  // namespace galvatron::app
