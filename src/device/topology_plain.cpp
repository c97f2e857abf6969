// The host's topology in a build without hwloc: cores and memory only.

#include "device/topology.hpp"

namespace galvatron::device {

HostTopology host_topology() {
  return detail::plain_topology();
}

}  // namespace galvatron::device
