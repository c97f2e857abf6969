// The life of an MPI job around a verb.
#include "app/ranks.hpp"

#include <filesystem>

#include "app/alone.hpp"
#include "app/events.hpp"
#include "app/failure.hpp"
#include "app/run_report.hpp"
#include "comm/failure.hpp"
#include "comm/watchdog.hpp"

namespace galvatron::app {
namespace {

/// The deck's bytes as rank 0 reads them, on all ranks: the same bytes give the same errors everywhere.
std::string shared_bytes(comm::World& world, const Verb& verb, const CommandLine& line) {
  if (verb.argument != Argument::deck || line.file.empty()) return {};
  return read_shared(world, "", [&] { return read_text(line.file); });
}

/// What is known of the run folder when a verb ends, however it ends.
struct RunFolderInUse {
  std::filesystem::path path;
  std::filesystem::path own;  ///< empty until this job may write to it

  void report(core::ExitCode code, Console& console) const {
    if (own.empty()) return;
    note_exit(own, code, console);
    write_report(own, console);
  }
  void report_failure(core::ExitCode code, const std::string& text, Console& console,
                      ProfileUse profile = ProfileUse::read) const {
    if (own.empty()) return;
    note_failure(own, code, text, console);
    write_report(own, console, profile);
  }
};

core::ExitCode play(Ranks& ranks, const Verb& verb, const CommandLine& line, Console& console, Result& result,
                    RunFolderInUse& folder) {
  comm::World& world = ranks.world();
  const std::string bytes = shared_bytes(world, verb, line);
  Context context{line, {}, console, result, &ranks};
  world.agree("", [&] { context.deck = deck_of(verb, line, bytes); });
  folder.path = context.deck.run.out;
  context.own_folder = &folder.own;

  comm::Watchdog watchdog(world, folder.path, context.deck.run.watchdog, [&](const std::string& text) {
    console.set_speaker(Speaker::yes);  // the rank that notices first speaks for all
    console.error(text);
    // Another thread hangs, perhaps in the HDF5 library.
    folder.report_failure(core::ExitCode::hang, text, console, ProfileUse::skip);
  });
  context.watchdog = &watchdog;
  return verb.play(context);
}

}  // namespace

Ranks::Ranks()
    : device_(device::make_device(device::DeviceKind::cpu)), world_(comm::make_mpi_world(*device_)) {}

std::string read_shared(comm::World& world, std::string_view what, const std::function<std::string()>& read) {
  std::string text;
  world.agree(what, [&] {
    if (world.rank() == 0) text = read();
  });
  return world.broadcast(std::move(text), 0);
}

core::ExitCode play_on_ranks(const Verb& verb, const CommandLine& line, Console& console, Result& result) {
  Ranks ranks;
  comm::World& world = ranks.world();
  console.set_speaker(world.rank() == 0 ? Speaker::yes : Speaker::no);
  RunFolderInUse folder;
  auto code = core::ExitCode::finished;
  try {
    code = play(ranks, verb, line, console, result, folder);
    if (world.rank() == 0) folder.report(code, console);
  } catch (...) {
    const Failure failure = describe(std::current_exception(), world.size());
    if (failure.reach == Reach::local) {
      // The others wait for this rank in some communication and cannot be told.
      console.set_speaker(Speaker::yes);
      const comm::FailureReport report(world, folder.path, [&](const std::string& text) {
        console.error(text);
        folder.report_failure(failure.code, text, console);
      });
      report.end_job(failure.code, failure.text);
    }
    console.error(failure.text);
    if (world.rank() == 0) folder.report_failure(failure.code, failure.text, console);
    code = failure.code;
  }
  if (verb.ending == Ending::result) console.print(result.line(verb.name, static_cast<int>(code)));
  return code;
}

}  // namespace galvatron::app
