// The host's topology with the packages, NUMA nodes and caches that hwloc knows.

#include <hwloc.h>

#include <memory>

#include "device/topology.hpp"

namespace galvatron::device {
namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<hwloc_topology, Destroy>;

void add_cache(HostTopology& host, hwloc_topology_t topology, hwloc_obj_type_t type, int64_t level) {
  const auto object = hwloc_get_obj_by_type(topology, type, 0);
  if (!object) return;
  const auto cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, object->cpuset, HWLOC_OBJ_CORE);
  host.caches.push_back({level, static_cast<int64_t>(object->attr->cache.size), cores});
}

}  // namespace

HostTopology host_topology() {
  auto host = detail::plain_topology();
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return host;
  const Handle topology(raw);
  if (hwloc_topology_load(raw) != 0) return host;
  host.packages = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_PACKAGE);
  host.numa_nodes = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_NUMANODE);
  add_cache(host, raw, HWLOC_OBJ_L1CACHE, 1);
  add_cache(host, raw, HWLOC_OBJ_L2CACHE, 2);
  add_cache(host, raw, HWLOC_OBJ_L3CACHE, 3);
  return host;
}

}  // namespace galvatron::device
