// The life of an MPI job around a verb.
#include "app/ranks.hpp"

#include <algorithm>
#include <filesystem>

#include "app/alone.hpp"
#include "app/events.hpp"
#include "app/failure.hpp"
#include "app/run_report.hpp"
#include "comm/device_world.hpp"
#include "comm/failure.hpp"
#include "comm/watchdog.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

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

core::UserError no_device(const std::string& wanted, const std::string& why) {
  return {core::ExitCode::environment,
          core::format("run.device = \"{}\": {}; run.device = \"cpu\" computes on the host", wanted, why)};
}

core::ExitCode play(Ranks& ranks, const Verb& verb, const CommandLine& line, Console& console, Result& result,
                    RunFolderInUse& folder) {
  const std::string bytes = shared_bytes(ranks.world(), verb, line);
  Context context{line, {}, console, result, &ranks};
  ranks.world().agree("", [&] { context.deck = deck_of(verb, line, bytes); });
  // A verb without an argument looks at the machine; that it has no device is a finding then.
  if (verb.argument != Argument::none) ranks.use_device(context.deck.run.device);
  comm::World& world = ranks.world();
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
    : host_(device::make_device(device::DeviceKind::cpu)), host_world_(comm::make_mpi_world(*host_)) {}

void Ranks::use_device(const std::string& wanted) {
  if (wanted == "cpu") return;
  const bool optional = wanted == "auto";
  std::unique_ptr<device::Device> made;
  std::string missing;
  host_world_->agree("", [&] {
    try {
      made = device::make_device(device::DeviceKind::cuda, host_world_->local_rank());
    } catch (const core::UserError& error) {
      if (!optional) throw no_device(wanted, error.what());
      missing = error.what();
    }
  });
  const auto reasons = host_world_->all_gather(missing);
  const auto with = std::find(reasons.begin(), reasons.end(), "");
  if (with == reasons.end()) return;
  host_world_->agree("", [&] {
    if (missing.empty()) return;
    throw core::UserError(
        core::ExitCode::environment,
        core::format("{}, while rank {} has a device; start ranks where all have one, or set run.device = "
                     "\"cpu\"",
                     missing, with - reasons.begin()));
  });
  const auto shared = wanted == "cuda-shared" ? comm::SharedDevices::staged : comm::SharedDevices::refused;
  try {
    device_world_ = comm::make_mpi_world(*made, shared);
  } catch (const core::UserError& error) {
    host_world_->agree("", [&] {
      throw core::UserError(
          error.code(), core::format("{}, or set run.device to \"cuda-shared\" (data through host memory) "
                                     "or \"cpu\"",
                                     error.what()));
    });
  }
  device_ = std::move(made);
}

std::string read_shared(comm::World& world, std::string_view what, const std::function<std::string()>& read) {
  std::string text;
  world.agree(what, [&] {
    if (world.rank() == 0) text = read();
  });
  return world.broadcast(std::move(text), 0);
}

core::ExitCode play_on_ranks(const Verb& verb, const CommandLine& line, Console& console, Result& result) {
  Ranks ranks;
  const comm::World& world = ranks.world();
  console.set_speaker(world.rank() == 0 ? Speaker::yes : Speaker::no);
  RunFolderInUse folder;
  auto code = core::ExitCode::finished;
  try {
    code = play(ranks, verb, line, console, result, folder);
    if (world.rank() == 0) folder.report(code, console);
  } catch (...) {
    comm::World& all = ranks.world();  // of the device, if it came so far: its end ends the device's traffic
    const Failure failure = describe(std::current_exception(), all.size());
    if (failure.reach == Reach::local) {
      // The others wait for this rank in some communication and cannot be told.
      console.set_speaker(Speaker::yes);
      const comm::FailureReport report(all, folder.path, [&](const std::string& text) {
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
