// Measuring, or finding that it has been measured already.

#include <chrono>
#include <ctime>

#include "app/alone.hpp"
#include "app/build_info.hpp"
#include "app/earlier_links.hpp"
#include "app/nominal.hpp"
#include "app/phases.hpp"
#include "app/requests.hpp"
#include "core/format.hpp"
#include "device/topology.hpp"
#include "kernels/algorithm_chooser.hpp"
#include "measure/algorithms.hpp"
#include "measure/link_report.hpp"
#include "measure/profile.hpp"
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

/// How training will read its data; empty without any.
measure::ReadSample reader_of(Job& job, const Data* data) {
  if (data == nullptr) return {};
  const auto seq = job.model().seq;
  auto order = std::make_shared<store::BlendOrder>(static_cast<uint64_t>(job.deck().run.seed), data->parts,
                                                   seq, "data.train");
  return [data, seq, order](int64_t sample) {
    std::vector<int32_t> window(static_cast<size_t>(seq + 1));
    data->train->read(order->offset_of(sample), window);
    return seq;
  };
}

measure::Request request_of(Job& job, const Data* data) {
  measure::Request request;
  request.threads = job.threads();
  request.talk_mark = talk_mark();
  request.compute_mark = compute_mark();
  request.model_fingerprint = spec::fingerprint(job.model());
  request.dtype = runtime::dtype_of(job.deck().train);
  request.read_sample = reader_of(job, data);
  request.conditions["date"] = date_text();
  for (const auto& [name, value] : build_facts())
    if (!value.empty() && value != "off") request.conditions["version: " + name] = value;
  const auto options = search::options_from_deck(job.deck().search, request.dtype);
  for (const auto& needed : search::needed_programs(job.model(), job.cluster(), options))
    request.layers.push_back({needed.layer, needed.context});
  return request;
}

/// The profile of the run folder on every rank, its samples on rank 0; nothing when rank 0 does not see it or
/// it is not wanted. Throws core::AgreedError when it is damaged.
std::optional<measure::Measured> earlier_of(Job& job) {
  const auto file = job.paths().profile();
  bool there = false;
  job.world().agree("look for a profile", [&] {
    there = job.world().rank() == 0 && job.deck().profile.reuse && std::filesystem::exists(file);
  });
  if (job.world().broadcast(there ? "there" : "", 0).empty()) return std::nullopt;
  measure::Measured earlier;
  job.world().agree("read " + file.string(), [&] {
    earlier.profile = store::read_profile(file);
    if (job.world().rank() == 0) earlier.raw = store::read_raw_samples(file);
  });
  return earlier;
}

/// The precision of the model first: it is the yardstick of utilisation.
std::vector<core::DType> precisions(core::DType model) {
  std::vector<core::DType> out = {model};
  for (const auto dtype : {core::DType::f32, core::DType::bf16, core::DType::f16})
    if (dtype != model) out.push_back(dtype);
  return out;
}

measure::Options options_of(Job& job, const measure::Request& request, Requests& requests) {
  measure::Options options;
  options.links.sizes =
      measure::geometric_sizes(job.deck().profile.min_bytes, job.deck().profile.max_bytes, 2);
  options.budget_seconds = job.deck().profile.budget;
  options.peaks.dtypes = precisions(request.dtype);
  options.interference.dtype = request.dtype;
  options.layers.memory_bytes = job.cluster().memory_bytes;
  options.hooks.stop_requested = [&requests] { return requests.look() >= runtime::Request::stop_user; };
  options.hooks.save_requested = [&requests] { return requests.take_save(); };
  options.hooks.alive = [&job](const std::string& what) { job.pat("profile: " + what); };
  options.keep = [&job](const measure::Measured& measured) {
    job.world().agree("write profile.h5", [&] {
      if (job.world().rank() == 0)
        store::write_profile(job.paths().profile(), measured.profile, measured.raw);
    });
  };
  return options;
}

cost::Profile named_profile(Job& job) {
  const auto& file = job.deck().profile.file;
  cost::Profile profile;
  job.world().agree("", [&] {
    if (!std::filesystem::exists(file))
      throw core::UserError(core::format("profile.file = \"{}\" does not exist", file));
    profile = profile_of_file(file, job.model(), runtime::dtype_of(job.deck().train));
  });
  job.log().info(core::format("profile: {}{}", file,
                              profile.hardware.nominal ? ", not measured: every time is nominal" : ""));
  return profile;
}

}  // namespace

ProfilePhase profile_phase(Job& job, const Data* data) {
  if (!job.deck().profile.file.empty()) return {named_profile(job), runtime::Request::none};
  const auto request = request_of(job, data);
  auto earlier = earlier_of(job);
  if (earlier) {
    const auto processor = job.world().broadcast(device::host_topology().processor, 0);
    const auto whole = measure::fingerprint_of(job.world(), job.device(), request, processor);
    if (earlier->profile.complete && earlier->profile.fingerprint == whole) {
      job.log().info("profile: " + job.paths().profile().string() +
                     " fits these ranks, this build and this model; used again");
      return {std::move(earlier->profile), runtime::Request::none};
    }
    job.log().info("profile: " + job.paths().profile().string() +
                   (earlier->profile.complete ? " is of other ranks, another build or model"
                                              : " was stopped before its end") +
                   "; measuring what it lacks");
  }
  const auto earlier_links = links_to_compare_with(job, earlier ? &earlier->profile.hardware : nullptr);
  job.log().info("\nProfile");
  Requests requests(job);
  auto outcome =
      measure::measure_all(job.world(), job.device(), request, options_of(job, request, requests),
                           earlier ? std::move(*earlier) : measure::Measured{}, job.reserve(), job.log());
  note_link_conditions(job, earlier_links, outcome.measured.profile.hardware);
  job.log().info(measure::outcome_report(outcome));
  job.world().agree("write profile.h5", [&] {
    if (job.world().rank() != 0) return;
    store::write_profile(job.paths().profile(), outcome.measured.profile, outcome.measured.raw);
    write_text(job.paths().root / "links.csv", measure::links_csv(outcome.measured.profile.hardware));
  });
  const auto asked = requests.agreed();
  if (outcome.stopped)
    job.log().info("profile: stopped; what was measured is in " + job.paths().profile().string());
  job.world().agree("", [&] {
    if (outcome.stopped && asked == runtime::Request::stop_requeue)
      throw core::Error(core::ExitCode::requeue, "stopped in the profile; the next start goes on with it");
  });
  return {std::move(outcome.measured.profile), asked};
}

void renew_kernels(Job& job) {
  job.renew_kernels();
  if (!measure::has_choice(job.kernels())) return;
  const auto* attention = job.kernels().chooser(core::ChosenStep::attention);
  job.log().info(attention != nullptr
                     ? "attention: " + attention->choices().library + " is here, used where it was faster"
                     : "attention: no cuDNN 9.10 or later is found; by the program's own kernels");
  const auto& named = job.deck().profile.file;
  const auto file = named.empty() ? job.paths().profile() : std::filesystem::path(named);
  const bool there = job.world().rank() == 0 && std::filesystem::exists(file);
  if (job.world().broadcast(there ? "there" : "", 0).empty()) return;
  cost::ModelProfile stored;
  job.world().agree("read " + file.string(), [&] {
    stored = profile_of_file(file, job.model(), runtime::dtype_of(job.deck().train)).model;
  });
  for (const auto step : core::all_chosen_steps) {
    auto* chooser = job.kernels().chooser(step);
    const auto& known = stored.choices(step);
    if (chooser == nullptr || known.algorithms.empty()) continue;
    const auto used = chooser->use(known);
    job.log().info(used > 0 ? core::format("{}: algorithms of {} from {}", name_of(step), used, file.string())
                            : core::format("{}: {} has algorithms of {} on {}, not used by {} on {}",
                                           name_of(step), file.string(), known.library, known.device,
                                           chooser->choices().library, chooser->choices().device));
  }
}

}  // namespace galvatron::app
