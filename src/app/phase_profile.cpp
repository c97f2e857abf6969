// Measuring, or finding that it has been measured already.

#include <chrono>
#include <ctime>

#include "app/alone.hpp"
#include "app/build_info.hpp"
#include "app/earlier_links.hpp"
#include "app/nominal.hpp"
#include "app/phases.hpp"
#include "core/format.hpp"
#include "measure/link_report.hpp"
#include "measure/profile.hpp"
#include "measure/report.hpp"
#include "measure/sampler.hpp"
#include "store/profile_file.hpp"

namespace galvatron::app {
namespace {

std::string date_text() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  char text[32];
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

measure::Request request_of(Job& job) {
  measure::Request request;
  request.threads = job.threads();
  request.build = version_json();
  request.model_fingerprint = spec::fingerprint(job.model());
  request.dtype = runtime::dtype_of(job.deck().train);
  request.conditions["date"] = date_text();
  const auto options = search::options_from_deck(job.deck().search, request.dtype);
  for (const auto& needed : search::needed_programs(job.model(), job.cluster(), options))
    request.layers.push_back({needed.layer, needed.context});
  return request;
}

/// The profile in a file, on every rank; nothing when rank 0 does not see it. Throws core::AgreedError when
/// it is damaged.
std::optional<cost::Profile> read(Job& job, const std::filesystem::path& file) {
  bool there = false;
  job.world().agree("look for a profile",
                    [&] { there = job.world().rank() == 0 && std::filesystem::exists(file); });
  if (job.world().broadcast(there ? "there" : "", 0).empty()) return std::nullopt;
  std::optional<cost::Profile> profile;
  job.world().agree("read " + file.string(), [&] { profile = store::read_profile(file); });
  return profile;
}

measure::Options options_of(Job& job) {
  measure::Options options;
  options.links.sizes =
      measure::geometric_sizes(job.deck().profile.min_bytes, job.deck().profile.max_bytes, 2);
  options.budget_seconds = job.deck().profile.budget;
  options.layers.memory_bytes = job.cluster().memory_bytes;
  options.hooks.stop_requested = [&job] { return job.context().ranks->signals().stop_requested(); };
  options.hooks.alive = [&job](const std::string& what) { job.pat(what); };
  return options;
}

}  // namespace

cost::Profile profile_phase(Job& job) {
  const auto& section = job.deck().profile;
  if (!section.file.empty()) {
    cost::Profile profile;
    job.world().agree("", [&] {
      if (!std::filesystem::exists(section.file))
        throw core::UserError(core::format("profile.file = \"{}\" does not exist", section.file));
      profile = profile_of_file(section.file, job.model(), runtime::dtype_of(job.deck().train));
    });
    job.log().info(core::format("profile: {}{}", section.file,
                                profile.hardware.nominal ? ", not measured: every time is nominal" : ""));
    return profile;
  }
  const auto request = request_of(job);
  if (section.reuse) {
    auto earlier = read(job, job.paths().profile());
    if (earlier && earlier->fingerprint == measure::fingerprint_of(job.world(), job.device(), request)) {
      job.log().info("profile: " + job.paths().profile().string() +
                     " fits these ranks, this build and this model; used again");
      return *earlier;
    }
    if (earlier)
      job.log().info("profile: " + job.paths().profile().string() +
                     " is of other ranks, another build or model; measuring");
  }
  const auto earlier_links = links_to_compare_with(job);
  job.log().info("\nProfile");
  auto outcome = measure::measure_all(job.world(), job.device(), job.kernels(), request, options_of(job),
                                      job.reserve(), job.log());
  note_link_conditions(job, earlier_links, outcome.profile.hardware);
  job.log().info(measure::outcome_report(outcome));
  job.world().agree("", [&] {
    // Half a profile is not kept: the next attempt would take it for a whole one.
    if (outcome.stopped) throw core::Error(core::ExitCode::requeue, "stopped in the profile");
  });
  job.world().agree("write profile.h5", [&] {
    if (job.world().rank() != 0) return;
    store::write_profile(job.paths().profile(), outcome.profile, outcome.raw);
    write_text(job.paths().root / "links.csv", measure::links_csv(outcome.profile.hardware));
  });
  return outcome.profile;
}

}  // namespace galvatron::app
