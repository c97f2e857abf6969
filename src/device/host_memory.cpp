// What the kernel says about this process without any library: its cores, and the memory that is left to it.
// Batch systems limit memory by control groups, of which two versions are in use, and the tightest limit may
// sit on any ancestor.

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "core/errors.hpp"
#include "device/topology.hpp"

namespace galvatron::device {
namespace {

constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

/// The number that the file starts with, or `unlimited` when there is none ("max", no such file).
int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  double value = 0;  // version 1 writes a limit near 2^63 for "none"
  if (!(file >> value) || value >= 9e18) return unlimited;
  return static_cast<int64_t>(value);
}

int64_t memory_available(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string key;
    int64_t kilobytes = 0;
    if (words >> key >> kilobytes && key == "MemAvailable:") return kilobytes * 1024;
  }
  return unlimited;
}

/// The least limit from the group `path` up to the root of the hierarchy at `mount`.
int64_t least_limit(const std::string& mount, std::string path, const std::string& file) {
  auto least = unlimited;
  while (true) {
    least = std::min(least, number_in(mount + path + "/" + file));
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

bool names_memory(const std::string& controllers) {
  std::istringstream names(controllers);
  std::string name;
  while (std::getline(names, name, ',')) {
    if (name == "memory") return true;
  }
  return false;
}

int64_t cgroup_limit(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  auto least = unlimited;
  while (std::getline(file, line)) {  // "number:controllers:path", "0::path" in version 2
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    auto path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (controllers.empty()) {
      least = std::min(least, least_limit(root + "/sys/fs/cgroup", path, "memory.max"));
    } else if (names_memory(controllers)) {
      least = std::min(least, least_limit(root + "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
    }
  }
  return least;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

std::vector<int> allowed_cores() {
  // The mask's size is not known beforehand: the kernel refuses one that is too small.
  for (int cores = 1024; cores <= 1 << 20; cores *= 2) {
    const auto bytes = CPU_ALLOC_SIZE(cores);
    std::vector<unsigned long> mask(bytes / sizeof(unsigned long));
    auto* set = reinterpret_cast<cpu_set_t*>(mask.data());
    if (sched_getaffinity(0, bytes, set) != 0) continue;
    std::vector<int> allowed;
    for (int core = 0; core < cores; ++core) {
      if (CPU_ISSET_S(core, bytes, set)) allowed.push_back(core);
    }
    return allowed;
  }
  throw core::ResourceError(core::ExitCode::environment, "cannot read this process's core mask");
}

int64_t available_host_memory(const std::string& root) {
  return std::min(memory_available(root), cgroup_limit(root));
}

HostTopology detail::plain_topology() {
  HostTopology host;
  host.processor = processor_name();
  host.cores = allowed_cores();
  host.available_bytes = available_host_memory();
  return host;
}

void give_back_free_memory() {
  // Not every C library has it.
  using Trim = int (*)(size_t);
  if (auto* trim = reinterpret_cast<Trim>(dlsym(RTLD_DEFAULT, "malloc_trim"))) trim(0);
}

}  // namespace galvatron::device
