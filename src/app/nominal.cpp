// Where a profile comes from when nothing can be measured between ranks.

#include "app/nominal.hpp"

#include <algorithm>
#include <filesystem>

#include "app/alone.hpp"
#include "app/build_info.hpp"
#include "comm/world.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "cost/cluster_file.hpp"
#include "device/topology.hpp"
#include "measure/layers.hpp"
#include "measure/peaks.hpp"
#include "program/lower.hpp"
#include "search/search.hpp"
#include "store/profile_file.hpp"

namespace galvatron::app {
namespace {

namespace fs = std::filesystem;

/// Seconds that a check spends on measuring this machine's compute.
constexpr double compute_seconds = 2.0;

/// What one Program may need to be measured. It bounds how long a single play can take: larger ones are
/// priced by formula instead, so that a check of a large model answers as soon as one of a small model.
constexpr int64_t measured_program_bytes = 64 * core::mib;

/// clusters/nominal.toml near the deck, near the program, where it was built or is to be installed.
fs::path nominal_file(const std::string& deck) {
  std::error_code ignored;
  const auto program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<fs::path> folders = {fs::path(deck).parent_path(), fs::path(deck).parent_path().parent_path(),
                                   program.parent_path() / "inputs",
                                   program.parent_path() / "share" / "galvatron" / "inputs"};
  for (const auto& folder : data_folders()) folders.emplace_back(folder);
  std::vector<std::string> tried;
  for (const auto& folder : folders) {
    const auto file = folder / "clusters" / "nominal.toml";
    if (fs::exists(file, ignored)) return file;
    tried.push_back(file.string());
  }
  throw core::UserError(
      core::format("no figures of a cluster to plan with: none of {} exists; name a file in profile.file",
                   core::join(tried, ", ")));
}

/// Fewer bytes than the Program can do with: its weights and one activation. Spares the lowering of Programs
/// that are not going to be measured.
int64_t least_bytes(const search::NeededProgram& needed) {
  const auto& strategy = needed.context.strategy;
  const auto& dims = needed.layer.dims;
  int64_t elements = needed.context.samples * dims.seq * dims.hidden / (strategy.sp * strategy.cp);
  for (const auto& p : program::parameters_of(needed.layer)) elements += p.rows * p.cols;
  return elements / strategy.tp * core::size_of(needed.context.dtype);
}

/// Peaks and layer steps of this process alone.
void measure_compute(cost::Profile& profile, const spec::ModelSpec& model, const spec::ClusterSpec& cluster,
                     const search::SearchOptions& options, device::Device& device,
                     kernels::Kernels& kernels) {
  const auto alone = comm::make_dry_world(0, 1, 1);
  measure::Budget budget(*alone, compute_seconds);
  budget.begin("peaks", 0.3);
  store::RawTable unused;
  auto& hardware = profile.hardware;
  hardware.gemm_peaks.clear();  // measured ones stand in for published ones
  hardware.memory_bytes_per_second.clear();
  measure::PeakOptions peak_options;
  peak_options.dtypes = {options.dtype};
  measure::measure_peaks(*alone, device, kernels, peak_options, budget, hardware, unused);
  hardware.gemm_flops = hardware.gemm_peaks.at(options.dtype);
  budget.end(1, 1, "ranks");
  std::vector<measure::LayerCase> layers;
  for (const auto& needed : search::needed_programs(model, cluster, options))
    if (least_bytes(needed) <= measured_program_bytes) layers.push_back({needed.layer, needed.context});
  budget.begin("layers", 1.0);
  measure::LayerOptions layer_options;
  layer_options.memory_bytes = measured_program_bytes;
  measure::measure_layers(*alone, device, kernels, layers, layer_options, budget, profile.model, unused);
  budget.end(1, 1, "models");
}

}  // namespace

spec::ClusterSpec described_cluster(const deck::ClusterSection& section) {
  spec::ClusterSpec cluster{std::max<int64_t>(1, section.nodes), std::max<int64_t>(1, section.ranks_per_node),
                            section.memory};
  if (cluster.memory_bytes == 0)
    cluster.memory_bytes = device::available_host_memory() / cluster.ranks_per_node;
  return cluster;
}

int64_t described_ranks(const deck::ClusterSection& section) {
  return section.nodes * section.ranks_per_node;
}

cost::Profile profile_of_file(const fs::path& file, const spec::ModelSpec& model, core::DType dtype) {
  if (file.extension() == ".h5") return store::read_profile(file);
  cost::Profile profile;
  profile.hardware = cost::hardware_from_toml(read_text(file.string()), file.string());
  profile.model.model_fingerprint = spec::fingerprint(model);
  profile.model.dtype = dtype;
  profile.fingerprint = "figures of " + file.filename().string();
  return profile;
}

cost::Profile profile_without_ranks(Context& context, const spec::ModelSpec& model,
                                    const spec::ClusterSpec& cluster, const search::SearchOptions& options,
                                    device::Device& device, kernels::Kernels& kernels) {
  const auto& named = context.deck.profile.file;
  const fs::path file = named.empty() ? nominal_file(context.line.file) : fs::path(named);
  auto profile = profile_of_file(file, model, options.dtype);
  if (named.empty()) {
    if (context.deck.run.device.starts_with("cuda"))
      context.console.warning(
          core::format("run.device = \"{}\", but compute is measured on this machine's processor: name a "
                       "profile of such devices, or figures of a cluster (inputs/clusters), in profile.file",
                       context.deck.run.device));
    measure_compute(profile, model, cluster, options, device, kernels);
  }
  context.console.info(
      profile.hardware.nominal
          ? core::format("links: figures of {}, not measured: every time is nominal", file.string())
          : core::format("profile: {}", file.string()));
  return profile;
}

}  // namespace galvatron::app
