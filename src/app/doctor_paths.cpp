// Between the ranks: messages around all of them, files that all of them see.

#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>

#include "app/doctor.hpp"
#include "app/ranks.hpp"
#include "comm/watchdog.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "device/tensor.hpp"
#include "runtime/training_state.hpp"
#include "store/checkpoint_probe.hpp"
#include "store/hdf5_probe.hpp"

namespace galvatron::app {
namespace {

namespace fs = std::filesystem;

/// Small ones go as they are, large ones by another protocol, which firewalls and cables break on their own.
constexpr std::array<int64_t, 2> message_bytes = {8, int64_t{1} << 20};
/// Some file systems show a new file on other nodes only after a while.
constexpr double visibility_patience = 10.0;
/// Written in each way: enough for a rate, little enough for a slow disk.
constexpr int64_t tried_bytes = int64_t{32} << 20;
constexpr int64_t little_room = int64_t{1} << 30;

std::string kind_of(const fs::path& folder) {
  struct statfs status {};
  if (statfs(folder.c_str(), &status) != 0) return "unknown";
  switch (static_cast<uint32_t>(status.f_type)) {
    case 0x6969:
      return "nfs";
    case 0x0bd00bd0:
      return "lustre";
    case 0x47504653:
      return "gpfs";
    case 0x19830326:
      return "beegfs";
    case 0x00c36400:
      return "ceph";
    case 0x01021994:
      return "tmpfs";
    case 0xef53:
      return "ext";
    case 0x58465342:
      return "xfs";
    case 0x9123683e:
      return "btrfs";
    case 0x794c7630:
      return "overlay";
    default:
      return "of another kind";
  }
}

int64_t room_in(const fs::path& folder) {
  struct statvfs status {};
  if (statvfs(folder.c_str(), &status) != 0) return 0;
  return static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_frsize);
}

/// A name that nobody guesses, the same on every rank.
std::string secret_name(comm::World& world) {
  std::random_device dice;
  return world.broadcast(core::format("galvatron-doctor-{:08x}{:08x}", dice(), dice()), 0);
}

/// A folder of its own below `folder`, gone at the end.
class ProbeFolder {
 public:
  ProbeFolder(comm::World& world, const fs::path& folder)
      : world_(world), path_(folder / secret_name(world)) {
    world_.agree("make a folder in " + folder.string(), [&] {
      if (world_.rank() != 0) return;
      std::error_code error;
      fs::create_directories(folder, error);
      if (!fs::create_directory(path_, error))
        throw core::UserError(core::ExitCode::environment,
                              core::format("{}: {}", path_.string(), error.message()));
    });
  }
  ProbeFolder(const ProbeFolder&) = delete;
  ProbeFolder& operator=(const ProbeFolder&) = delete;
  ~ProbeFolder() {
    if (std::uncaught_exceptions() == 0) world_.barrier();
    std::error_code ignored;
    fs::remove_all(path_, ignored);  // on every node: it may not be the same folder
  }
  const fs::path& path() const { return path_; }

 private:
  comm::World& world_;
  fs::path path_;
};

std::string name_of_node(int node) {
  return core::format("node-{}", node);
}

/// Seconds until this rank has seen the file of every node, or −1 − (the first node it never saw).
double seen_after(comm::World& world, const fs::path& folder) {
  const auto begin = runtime::now();
  for (int node = 0; node < world.nodes(); ++node) {
    const auto wanted = world.host_of(node);
    while (true) {
      std::ifstream file(folder / name_of_node(node));
      std::string text;
      if (std::getline(file, text) && text == wanted) break;
      if (runtime::now() - begin > visibility_patience) return -1.0 - node;
      ::usleep(10000);
    }
  }
  return runtime::now() - begin;
}

}  // namespace

Check check_ring(Context& context, double patience) {
  auto& world = context.ranks->world();
  if (world.size() == 1) return {"ring", Finding::ok, "one rank has nobody to talk to", ""};
  auto& device = context.ranks->device();
  std::vector<int> everybody(static_cast<size_t>(world.size()));
  std::iota(everybody.begin(), everybody.end(), 0);
  const int before = (world.rank() + world.size() - 1) % world.size();
  const int after = (world.rank() + 1) % world.size();
  comm::Watchdog watchdog(world, fs::temp_directory_path(), patience, [&](const std::string& text) {
    context.console.set_speaker(Speaker::yes);
    context.console.error("ring: no message came for " + core::format_seconds(patience) + "\n" + text);
  });
  const auto ring = world.make_communicator(everybody, comm::TrafficClass::pipeline);
  std::vector<std::string> rounds;
  for (const auto bytes : message_bytes) {
    const device::Buffer buffer(device, bytes);
    const auto view = device::vector(buffer.data(), core::DType::f32, bytes / 4);
    const auto begin = runtime::now();
    if (world.rank() == 0) ring->send(view, after).wait();
    watchdog.pat(core::format("ring: waits for {} from rank {} on {}", core::format_bytes(bytes), before,
                              world.host_of(world.node_of(before))));
    ring->receive(view, before).wait();
    if (world.rank() != 0) ring->send(view, after).wait();
    world.barrier();
    rounds.push_back(core::format("{} in {}", core::format_bytes(bytes),
                                  core::format_seconds((runtime::now() - begin) / world.size())));
  }
  return {"ring", Finding::ok, core::format("around all ranks, per hop: {}", core::join(rounds, ", ")), ""};
}

Check check_folder(Context& context, const fs::path& folder) {
  auto& world = context.ranks->world();
  const auto shown = fs::absolute(folder).lexically_normal().string();
  try {
    const ProbeFolder probe(world, folder);
    world.agree("", [&] {
      if (world.local_rank() != 0) return;
      std::error_code ignored;
      fs::create_directories(probe.path(), ignored);  // where the folder is not shared
      std::ofstream file(probe.path() / name_of_node(world.node()));
      file << world.host_of(world.node()) << '\n';
      if (!file.flush()) throw core::UserError(core::ExitCode::environment, shown + ": cannot be written");
    });
    const auto seen = world.all_gather(seen_after(world, probe.path()));
    double longest = 0;
    for (size_t r = 0; r < seen.size(); ++r) {
      if (seen[r] < 0)
        return {"folder", Finding::failure,
                core::format("{}: rank {} on {} does not see the file that {} wrote", shown, r,
                             world.host_of(world.node_of(static_cast<int>(r))),
                             world.host_of(static_cast<int>(-1 - seen[r]))),
                "run folders must lie on a file system that all nodes share: --out DIR"};
      longest = std::max(longest, seen[r]);
    }
    const auto room = room_in(folder);
    Check check{"folder", Finding::ok,
                core::format("{} ({}): seen by all nodes within {}, {} free", shown, kind_of(folder),
                             core::format_seconds(longest), core::format_bytes(room)),
                ""};
    if (room < little_room) {
      check.finding = Finding::warning;
      check.advice = "make room: each checkpoint takes 12 bytes or more per parameter";
    }
    return check;
  } catch (const core::AgreedError& error) {
    return {"folder", Finding::failure, error.what(), "choose a folder that can be written to: --out DIR"};
  }
}

Check check_hdf5(Context& context, const fs::path& folder) {
  auto& world = context.ranks->world();
  try {
    const ProbeFolder probe(world, folder);
    const auto file = probe.path() / "probe.h5";
    world.agree("write an HDF5 file", [&] {
      if (world.rank() == 0) store::write_hdf5_probe(file);
    });
    world.agree("read an HDF5 file", [&] { store::read_hdf5_probe(file); });
    return {"hdf5", Finding::ok, "written by rank 0, read by all", ""};
  } catch (const core::AgreedError& error) {
    return {"hdf5", Finding::failure, error.what(),
            "another file system; export HDF5_USE_FILE_LOCKING=FALSE where locks are refused"};
  }
}

CheckpointCheck check_checkpoints(Context& context, const fs::path& folder) {
  auto& world = context.ranks->world();
  Check check{"checkpoint", Finding::ok, "", ""};
  try {
    const ProbeFolder probe(world, folder);
    std::vector<std::string> ways;
    for (const auto io : {store::CheckpointIo::automatic, store::CheckpointIo::aggregate,
                          store::CheckpointIo::independent, store::CheckpointIo::collective}) {
      const auto tried = store::try_checkpoint_io(world, probe.path(), io, tried_bytes);
      const auto rate = core::format_bytes(static_cast<int64_t>(tried.bytes_per_second)) + "/s";
      ways.push_back(core::format("{} {}", name_of(io), tried.problem.empty() ? rate : tried.problem));
      check.text = core::join(ways, ", ");
      if (tried.problem.empty()) continue;
      check.finding = Finding::warning;
      check.advice = "checkpoint.io = \"auto\", which avoids MPI's own input and output";
      if (!tried.ended) return {check, true};
      if (io > store::CheckpointIo::aggregate) continue;
      check.finding = Finding::failure;
      check.advice = "choose a folder that can be written to: --out DIR";
      return {check, false};
    }
    check.text += core::format("; {} written, synced and read back each", core::format_bytes(tried_bytes));
    return {check, false};
  } catch (const core::AgreedError& error) {
    return {
        {"checkpoint", Finding::failure, error.what(), "choose a folder that can be written to: --out DIR"},
        false};
  }
}

}  // namespace galvatron::app
