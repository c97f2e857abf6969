// The life of an MPI job around a verb.
#include "app/ranks.hpp"

#include <filesystem>

#include "app/alone.hpp"
#include "app/failure.hpp"
#include "comm/failure.hpp"
#include "comm/watchdog.hpp"

namespace galvatron::app {
namespace {

/// The deck's bytes as rank 0 reads them, on all ranks: the same bytes give the same errors everywhere.
std::string shared_bytes(comm::World& world, const Verb& verb, const CommandLine& line) {
  if (verb.argument != Argument::deck || line.file.empty()) return {};
  return read_shared(world, "", [&] { return read_text(line.file); });
}

core::ExitCode play(Ranks& ranks, const Verb& verb, const CommandLine& line, Console& console, Result& result,
                    std::filesystem::path& run_folder) {
  comm::World& world = ranks.world();
  const std::string bytes = shared_bytes(world, verb, line);
  Context context{line, {}, console, result, &ranks};
  world.agree("", [&] { context.deck = deck_of(verb, line, bytes); });
  run_folder = context.deck.run.out;

  comm::Watchdog watchdog(world, run_folder, context.deck.run.watchdog, [&](const std::string& text) {
    console.set_speaker(Speaker::yes);  // the rank that notices first speaks for all
    console.error(text);
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
  std::filesystem::path run_folder;
  auto code = core::ExitCode::finished;
  try {
    code = play(ranks, verb, line, console, result, run_folder);
  } catch (...) {
    const Failure failure = describe(std::current_exception(), world.size());
    if (failure.reach == Reach::local) {
      // The others wait for this rank in some communication and cannot be told.
      console.set_speaker(Speaker::yes);
      const comm::FailureReport report(world, run_folder,
                                       [&](const std::string& text) { console.error(text); });
      report.end_job(failure.code, failure.text);
    }
    console.error(failure.text);
    code = failure.code;
  }
  if (verb.ending == Ending::result) console.print(result.line(verb.name, static_cast<int>(code)));
  return code;
}

}  // namespace galvatron::app
