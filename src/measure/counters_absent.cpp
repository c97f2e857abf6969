// Chosen by the build when PAPI is not there.
#include "measure/counters.hpp"

namespace galvatron::measure {

std::unique_ptr<Counters> make_counters() {
  return make_software_counters(
      "no hardware events: built without PAPI (configure with GALVATRON_WITH_PAPI=ON)");
}

}  // namespace galvatron::measure
