// What a rank finds out about itself and its node, and how it tells the others.

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "app/build_info.hpp"
#include "app/doctor.hpp"
#include "core/format.hpp"
#include "device/topology.hpp"

namespace galvatron::app {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int64_t limit_of(decltype(RLIMIT_AS) which) {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return -1;
  return static_cast<int64_t>(limit.rlim_cur);
}

int64_t free_bytes(const char* folder) {
  struct statvfs status {};
  if (statvfs(folder, &status) != 0) return -1;
  return static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_frsize);
}

/// Variables whose difference between ranks has cost people days. Those that name a rank are not among them.
std::string settings() {
  std::vector<std::string> found;
  for (const char* const* at = environ; *at != nullptr; ++at) {
    const std::string text = *at;
    const bool steers = text.starts_with("NCCL_") || text.starts_with("UCX_") ||
                        text.starts_with("OMPI_MCA_btl") || text.starts_with("OMPI_MCA_pml") ||
                        text.starts_with("OMPI_MCA_mpi_") || text.starts_with("OMP_NUM_THREADS=") ||
                        text.starts_with("HDF5_") || text.starts_with("OPENBLAS_");
    if (steers && text.find('\n') == std::string::npos) found.push_back(text);
  }
  std::sort(found.begin(), found.end());
  return core::join(found, "\n");
}

std::string program() {
  char path[4096] = {};
  const auto length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  return version_json() + (length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string());
}

/// Newlines would end a value.
std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', '\x1f');
  return text;
}
std::string on_its_lines(std::string text) {
  std::replace(text.begin(), text.end(), '\x1f', '\n');
  return text;
}

}  // namespace

RankFacts facts_of(const comm::World& world, const std::string& device) {
  RankFacts facts;
  facts.node = world.node();
  facts.host = world.host_of(world.node());
  facts.cores = device::allowed_cores();
  facts.machine_cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  facts.threads = std::atoll(environment("OMP_NUM_THREADS").c_str());
  facts.yields = environment("OMPI_MCA_mpi_yield_when_idle");
  facts.device = device;
  facts.visible = environment("CUDA_VISIBLE_DEVICES");
  facts.available_bytes = device::available_host_memory();
  facts.address_space_bytes = limit_of(RLIMIT_AS);
  facts.locked_bytes = limit_of(RLIMIT_MEMLOCK);
  facts.open_files = limit_of(RLIMIT_NOFILE);
  facts.shared_bytes = free_bytes("/dev/shm");
  struct stat ignored {};
  facts.infiniband = ::stat("/sys/class/infiniband", &ignored) == 0;
  facts.program = program();
  facts.settings = settings();
  return facts;
}

std::string to_text(const RankFacts& facts) {
  std::vector<std::string> cores;
  for (const int core : facts.cores) cores.push_back(std::to_string(core));
  std::string out;
  const auto add = [&](const auto& value) { out += core::format("{}\n", value); };
  add(facts.node);
  add(facts.host);
  add(core::join(cores, " "));
  add(facts.machine_cores);
  add(facts.threads);
  add(facts.yields);
  add(facts.device);
  add(facts.visible);
  add(facts.available_bytes);
  add(facts.address_space_bytes);
  add(facts.locked_bytes);
  add(facts.open_files);
  add(facts.shared_bytes);
  add(static_cast<int>(facts.infiniband));
  add(on_one_line(facts.program));
  add(on_one_line(facts.settings));
  return out;
}

RankFacts facts_from(const std::string& text) {
  std::istringstream lines(text);
  const auto next = [&] {
    std::string line;
    std::getline(lines, line);
    return line;
  };
  const auto number = [&] { return std::atoll(next().c_str()); };
  RankFacts facts;
  facts.node = static_cast<int>(number());
  facts.host = next();
  std::istringstream cores(next());
  for (int core = 0; cores >> core;) facts.cores.push_back(core);
  facts.machine_cores = number();
  facts.threads = number();
  facts.yields = next();
  facts.device = next();
  facts.visible = next();
  facts.available_bytes = number();
  facts.address_space_bytes = number();
  facts.locked_bytes = number();
  facts.open_files = number();
  facts.shared_bytes = number();
  facts.infiniband = number() != 0;
  facts.program = on_its_lines(next());
  facts.settings = on_its_lines(next());
  return facts;
}

}  // namespace galvatron::app
