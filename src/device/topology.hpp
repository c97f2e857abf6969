#pragma once
// What the host offers to this process: cores, memory, caches. Asked once at start by the run log, the
// profiler's conditions and the thread count.

#include <cstdint>
#include <string>
#include <vector>

namespace galvatron::device {

/// Core numbers that this process may run on (its affinity mask), ascending.
std::vector<int> allowed_cores();

/// Bytes of host memory that this process can still hope for: the least of MemAvailable and every cgroup
/// limit (v1 and v2) from the process's own group up. `root` is the folder that holds proc/ and sys/.
int64_t available_host_memory(const std::string& root = "/");

/// Level 1 to 3 of the data caches; `cores` share one.
struct Cache {
  int64_t level = 0;
  int64_t bytes = 0;
  int64_t cores = 0;
};

struct HostTopology {
  std::string processor;        ///< model name, "unknown" when the kernel does not say
  std::vector<int> cores;       ///< allowed ones
  int64_t packages = 0;         ///< in the whole machine; 0 = unknown (built without hwloc)
  int64_t numa_nodes = 0;       ///< likewise
  std::vector<Cache> caches;    ///< inner first; empty = unknown
  int64_t available_bytes = 0;  ///< as `available_host_memory`
};

HostTopology host_topology();

namespace detail {
/// The part of it that needs no hwloc.
HostTopology plain_topology();
}  // namespace detail

/// Gives memory that was freed back to the system, where the C library can: what is resident afterwards is in
/// use.
void give_back_free_memory();

}  // namespace galvatron::device
