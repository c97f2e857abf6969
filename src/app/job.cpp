// The start of a run, in order: threads and kernels, the run folder and who may use it, the banner.

#include "app/job.hpp"

#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "app/alone.hpp"
#include "app/build_info.hpp"
#include "app/events.hpp"
#include "app/signals.hpp"
#include "core/fingerprint.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "deck/deck.hpp"
#include "device/own_memory.hpp"
#include "device/topology.hpp"
#include "measure/group_sets.hpp"
#include "runtime/training_state.hpp"
#include "store/checkpoint.hpp"
#include "store/checkpoint_folder.hpp"

namespace galvatron::app {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Threads per rank: the deck, else OMP_NUM_THREADS, else this rank's cores shared among the ranks that have
/// the same ones.
int choose_threads(comm::World& world, const deck::RunSection& run) {
  const auto cores = device::allowed_cores();
  std::string mine = world.host_of(world.node());
  for (const int core : cores) mine += " " + std::to_string(core);
  const auto all = world.all_gather(mine);
  if (run.threads > 0) return static_cast<int>(run.threads);
  if (const auto omp = environment("OMP_NUM_THREADS"); !omp.empty())
    return std::max(1, std::atoi(omp.c_str()));
  const auto sharers = std::count(all.begin(), all.end(), mine);
  return std::max<int>(1, static_cast<int>(cores.size()) / static_cast<int>(sharers));
}

/// Of a rank, where so many share a node: that of the node with the least. Collective.
int64_t least_memory(comm::World& world, int64_t ranks_per_node) {
  const auto everywhere = world.all_gather(device::available_host_memory() / ranks_per_node);
  return *std::min_element(everywhere.begin(), everywhere.end());
}

/// Of a rank on a device, which is its own where it is not shared: that of the rank with the least.
/// Collective.
int64_t least_device_memory(comm::World& world, const device::OwnMemory& device) {
  std::string place;
  int64_t mine = 0;
  world.agree("ask the device for its memory", [&] {
    place = world.host_of(world.node()) + device.identity();
    mine = device.available_bytes();
  });
  const auto places = world.all_gather(place);
  const auto sharers = device.identity().empty() ? 1 : std::count(places.begin(), places.end(), place);
  const auto everywhere = world.all_gather(mine / static_cast<int64_t>(sharers));
  return *std::min_element(everywhere.begin(), everywhere.end());
}

spec::ClusterSpec cluster_of(comm::World& world, const device::Device& device,
                             const deck::ClusterSection& section) {
  const auto local = world.all_gather(static_cast<int64_t>(world.local_size()));
  spec::ClusterSpec cluster{world.nodes(), world.local_size(), section.memory};
  world.agree("look at the nodes", [&] {
    for (size_t r = 0; r < local.size(); ++r)
      if (local[r] != local[0])
        throw core::UserError(core::ExitCode::environment,
                              core::format("nodes have different numbers of ranks: {} with rank 0, {} with "
                                           "rank {}; start the same number "
                                           "on every node (--ntasks-per-node)",
                                           local[0], local[r], r));
  });
  if (cluster.memory_bytes > 0) return cluster;
  // Every rank has the same kind of device, so all go the same way.
  const auto* own = device::own_memory(device);
  cluster.memory_bytes =
      own == nullptr ? least_memory(world, world.local_size()) : least_device_memory(world, *own);
  return cluster;
}

/// The machine of the deck, which need not be this one.
spec::ClusterSpec described_cluster(comm::World& world, const deck::ClusterSection& section) {
  spec::ClusterSpec cluster{section.nodes, section.ranks_per_node, section.memory};
  if (cluster.memory_bytes == 0) cluster.memory_bytes = least_memory(world, cluster.ranks_per_node);
  return cluster;
}

/// What must not change between the attempts of one run: the rest of a deck only says how and how long.
deck::DeckValues identity_of(deck::DeckValues values) {
  deck::DeckValues kept;
  kept.run.seed = values.run.seed;
  kept.model = values.model;
  kept.data = values.data;
  kept.search.batch = values.search.batch;
  kept.train = values.train;
  const deck::TrainSection defaults;
  kept.train.stop_after = defaults.stop_after;
  kept.train.resume = defaults.resume;
  kept.train.log_every = defaults.log_every;
  kept.train.eval_every = defaults.eval_every;
  kept.train.walltime = defaults.walltime;
  return kept;
}

/// "train.steps was 20 and is 30" for every key that differs.
std::vector<std::string> differences(const deck::DeckValues& earlier, const deck::DeckValues& now) {
  std::istringstream before(deck::to_toml(earlier)), after(deck::to_toml(now));
  std::vector<std::string> found;
  std::string section;
  for (std::string a, b; std::getline(before, a) && std::getline(after, b);) {
    if (b.starts_with("[")) section = b.substr(1, b.find(']') - 1);
    const auto sign = b.find(" = ");
    if (a == b || sign == std::string::npos) continue;
    found.push_back(core::format("{}.{} was {} and is {}", section, b.substr(0, sign), a.substr(sign + 3),
                                 b.substr(sign + 3)));
  }
  return found;
}

/// Moves a file or folder of an earlier run to the first free name-N.
void move_aside(const fs::path& path) {
  if (!fs::exists(path)) return;
  for (int n = 1;; ++n) {
    auto target = path;
    target += core::format("-{}", n);
    if (fs::exists(target)) continue;
    fs::rename(path, target);
    return;
  }
}

}  // namespace

Job::Job(Context& context, FolderUse use) : context_(context) {
  if (const auto* own = device::own_memory(device())) {
    free_at_start_ = own->available_bytes();
    reserve_ = measure::ReserveMeter([this, own] { return free_at_start_ - own->available_bytes(); });
  }
  reserve_.mark("program, MPI");
  model_ = spec::model_from_deck(deck().model);
  threads_ = choose_threads(world(), deck().run);
  renew_kernels();
  described_ = context.line.verb == "search" && deck().cluster.nodes > 0;
  cluster_ =
      described_ ? described_cluster(world(), deck().cluster) : cluster_of(world(), device(), deck().cluster);
  paths_ = {deck().run.out};
  deck_text_ = deck::to_toml(deck());
  if (deck().train.walltime > 0) deadline_ = runtime::wall_clock() + deck().train.walltime;
  if (const auto end = std::atof(environment("SLURM_JOB_END_TIME").c_str()); end > 0)
    deadline_ = deadline_ > 0 ? std::min(deadline_, end) : end;
  require_same(world(), "the program or the deck", version_json() + deck_text_);
  if (use == FolderUse::own) open_folder();
  banner();
  if (use == FolderUse::own && !finished_) note_attempt();
}

int64_t Job::peak_bytes() {
  const auto* own = device::own_memory(device());
  if (own == nullptr) return measure::peak_resident_bytes();
  // What was allocated through the device, and what libraries took beside it and still hold.
  const auto taken = free_at_start_ - own->available_bytes() - own->bytes_in_use();
  return own->peak_bytes() + std::max<int64_t>(taken, 0);
}

void Job::renew_kernels() {
  workspace_.reset();
  kernels_.reset();
  kernels_ = kernels::make_kernels(device(), threads_);
  workspace_ = std::make_unique<runtime::KernelWorkspace>(*kernels_);
}

void Job::open_folder() {
  world().agree("open the run folder", [&] {
    if (world().rank() != 0) return;
    using Contents = store::RunFolder::Contents;
    const auto contents = context_.line.overwrite ? Contents::renew : Contents::keep;
    folder_.emplace(paths_.root,
                    store::JobIdentity{environment("SLURM_JOB_ID"), world().host_of(0), ::getpid()},
                    contents);
    for (const auto& notice : folder_->notices()) log().info(notice);
    look_at_earlier_run();
    fs::create_directories(paths_.checkpoints());
    store::CheckpointFolder(paths_.checkpoints()).remove_unfinished();
    write_text(paths_.deck(), deck_text_);
    for (const auto* touch : {"CHECKPOINT", "STOP"})
      if (fs::remove(paths_.root / touch))
        log().warning(core::format("removed {}, which lay there before the run began", touch));
    run_id_ = folder_->id();
  });
  run_id_ = world().broadcast(run_id_, 0);
  world().agree("open the log files", [&] {
    if (context_.line.log) log().keep_log(paths_.log(world().rank()));
  });
  finished_ = world().broadcast(finished_ ? "finished" : "", 0) == "finished";
}

void Job::look_at_earlier_run() {
  const auto files = store::CheckpointFolder(paths_.checkpoints()).list();
  if (files.empty()) return;
  const bool never = deck().train.resume == "never";
  std::vector<std::string> other;
  if (fs::exists(paths_.deck())) {
    const auto earlier = deck::parse_deck(read_text(paths_.deck().string()), paths_.deck().string(), {});
    other = differences(identity_of(earlier), identity_of(deck()));
  }
  if (context_.line.overwrite && (never || !other.empty())) {
    move_aside(paths_.checkpoints());
    move_aside(paths_.metrics());
    move_aside(paths_.events());
    move_aside(paths_.plan());
    return;
  }
  if (!other.empty())
    throw core::UserError(core::format(
        "{} holds checkpoints of another deck: {}; choose another run.out, or --overwrite to move them aside",
        paths_.root.string(), core::join(other, ", ")));
  if (never)
    throw core::UserError(core::format(
        "{} holds checkpoints and train.resume is never; choose another run.out, or --overwrite to move "
        "them aside",
        paths_.root.string()));
  if (deck().train.resume != "auto") return;
  for (const auto& file : files) {
    try {
      const auto state = store::read_state(file);
      finished_ = state.step >= deck().train.steps &&
                  runtime::validation_debt_of(state) == runtime::ValidationDebt::none;
      return;
    } catch (const core::Error&) {
      continue;  // a damaged file is the resume's business
    }
  }
}

void Job::banner() {
  const auto topology = device::host_topology();
  log().info(core::format("galvatron: {} ranks on {} ({} per node), {} threads each, {} per rank",
                          world().size(), core::join(measure::hosts_of_nodes(world()), ", "),
                          cluster_.ranks_per_node, threads_, core::format_bytes(cluster_.memory_bytes)));
  log().info(
      core::format("processor: {}, {} cores for this process", topology.processor, topology.cores.size()));
  if (device().kind() != device::DeviceKind::cpu)
    log().info(core::format("device: {} {}, one {}", device().name(), device().identity(),
                            deck().run.device == "cuda-shared" ? "for several ranks" : "per rank"));
  log().info(core::format("run folder: {}", paths_.root.string()));
  if (described_)
    log().info(core::format("plans are for the deck's [cluster]: {} nodes × {} ranks, {} per rank",
                            cluster_.nodes, cluster_.ranks_per_node,
                            core::format_bytes(cluster_.memory_bytes)));
  if (threads_ * world().local_size() > static_cast<int>(topology.cores.size()) && world().local_size() > 1)
    log().info(core::format("{} ranks share {} cores", world().local_size(), topology.cores.size()));
}

void Job::note_attempt() {
  if (context_.own_folder != nullptr) *context_.own_folder = paths_.root;
  const auto topology = device::host_topology();
  const auto ranks =
      core::format("{} on {} nodes, {} per node", world().size(), world().nodes(), cluster_.ranks_per_node);
  const auto verb = core::format("galvatron {} {}", context_.line.verb, context_.line.file);
  auto line = store::event_line(0, "attempt", core::format("{}, {} ranks", verb, world().size()));
  line.text("command", core::join({verb, core::join(context_.line.overrides, " ")}, " "))
      .text("hosts", core::join(measure::hosts_of_nodes(world()), ", "))
      .text("ranks", ranks)
      .text("threads", core::format("{} per rank", threads_))
      .text("processor",
            core::format("{}, {} cores for a process", topology.processor, topology.cores.size()))
      .text("device", device().kind() == device::DeviceKind::cpu ? "" : device().name())
      .text("version", version_text().substr(0, version_text().find('\n')))
      .integer("memory_bytes", cluster_.memory_bytes);
  note(*this, line);
}

void require_same(comm::World& world, std::string_view what, const std::string& text) {
  const auto marks = world.all_gather(static_cast<int64_t>(core::fnv1a(text)));
  world.agree("", [&] {
    std::vector<std::string> others;
    for (size_t r = 1; r < marks.size(); ++r)
      if (marks[r] != marks[0]) others.push_back(std::to_string(r));
    if (!others.empty())
      throw core::UserError(
          core::ExitCode::environment,
          core::format(
              "{} of ranks {} differs from rank 0's; install the same program and files on every node", what,
              core::join(others, ", ")));
  });
}

runtime::Request Job::take_requests() {
  auto request = context_.ranks->signals().take();
  if (world().rank() != 0) return request;
  if (folder_ && folder_->lost())
    throw core::UserError(
        core::ExitCode::environment,
        core::format("another job has taken over the run folder {}; this one leaves it alone",
                     paths_.root.string()));
  auto touched = [&](const char* name) {
    std::error_code ignored;
    return fs::remove(paths_.root / name, ignored);
  };
  if (touched("CHECKPOINT")) request = std::max(request, runtime::Request::save);
  if (touched("STOP")) request = std::max(request, runtime::Request::stop_user);
  return request;
}

void Job::end_if_asked(std::string_view when) const {
  if (!context_.ranks->signals().stop_requested() && seconds_left() > 0) return;
  throw core::Error(core::ExitCode::requeue,
                    core::format("stopped {}; the next start begins there again", when));
}

double Job::seconds_left() const {
  return deadline_ > 0 ? deadline_ - runtime::wall_clock() : std::numeric_limits<double>::infinity();
}

}  // namespace galvatron::app
