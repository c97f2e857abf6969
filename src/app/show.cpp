// galvatron show FILE: a deck, plan, profile or checkpoint in words and tables.

#include "app/alone.hpp"
#include "app/file_kind.hpp"
#include "app/run_report.hpp"
#include "app/shown.hpp"
#include "app/verbs.hpp"
#include "core/format.hpp"
#include "report/page.hpp"

namespace galvatron::app {
namespace {

std::string space_of(const CommandLine& line, FileKind kind) {
  if (kind == FileKind::deck) return shown_space_of_deck(line.file, line.overrides);
  if (kind == FileKind::plan) return shown_space_of_plan(line.file);
  throw core::UserError(core::format("{}: --space is for a deck or a plan", line.file));
}

}  // namespace

core::ExitCode show_verb(Context& context) {
  const auto& line = context.line;
  const auto kind = kind_of_file(line.file);
  if (!line.overrides.empty() && kind != FileKind::deck)
    throw core::UserError(core::format("command line: '{}': only a deck has keys to set; {} is none",
                                       line.overrides.front(), line.file));
  if (!line.html.empty() && kind != FileKind::run)
    throw core::UserError(core::format("{}: --html is for a run folder", line.file));
  if (line.space) {
    context.console.print(space_of(line, kind));
    return core::ExitCode::finished;
  }
  switch (kind) {
    case FileKind::deck:
      context.console.print(shown_deck(line.file, line.overrides));
      break;
    case FileKind::plan:
      context.console.print(shown_plan(line.file));
      break;
    case FileKind::cluster:
      context.console.print(shown_cluster(line.file));
      break;
    case FileKind::profile:
      context.console.print(shown_profile(line.file));
      break;
    case FileKind::run:
      context.console.print(shown_run(line.file));
      if (!line.html.empty()) write_text(line.html, report::page(read_run(line.file)));
      break;
    case FileKind::checkpoint: {
      const auto shown = shown_checkpoint(line.file);
      context.console.print(shown.text);
      if (!shown.damage.empty()) throw core::UserError(core::ExitCode::checkpoint, shown.damage);
      break;
    }
  }
  return core::ExitCode::finished;
}

}  // namespace galvatron::app
