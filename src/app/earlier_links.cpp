// Rank 0 looks at the file; what it finds steers all ranks.
#include "app/earlier_links.hpp"

#include <cstdlib>
#include <filesystem>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "measure/link_changes.hpp"
#include "measure/verdicts.hpp"
#include "store/profile_file.hpp"

namespace galvatron::app {

std::optional<cost::HardwareProfile> links_to_compare_with(Job& job, const cost::HardwareProfile* known) {
  const auto& named = job.deck().profile.compare;
  std::optional<cost::HardwareProfile> earlier;
  if (!named.empty()) {
    job.world().agree("", [&] {
      if (!std::filesystem::exists(named))
        throw core::UserError(core::format("profile.compare = \"{}\" does not exist", named));
      earlier = store::read_profile(named).hardware;
    });
    return earlier;
  }
  if (known != nullptr) return *known;
  const auto file = job.paths().profile();
  std::string trouble;
  if (job.world().rank() == 0 && std::filesystem::exists(file)) {
    try {
      earlier = store::read_profile(file).hardware;
    } catch (const core::Error& error) {
      trouble = error.what();
    }
  }
  if (!trouble.empty()) job.log().warning("links are not compared: " + trouble);
  return earlier;
}

void note_link_conditions(Job& job, const std::optional<cost::HardwareProfile>& earlier,
                          cost::HardwareProfile& hardware) {
  const char* number = std::getenv("SLURM_JOB_ID");
  if (const auto text = job.world().broadcast(number == nullptr ? "" : number, 0); !text.empty())
    hardware.conditions[measure::slurm_condition] = text;
  if (!earlier || earlier->nominal || earlier->links.empty()) return;
  if (earlier->links == hardware.links) return;  // kept from there, with what was said of them
  const auto date = earlier->conditions.find("date");
  hardware.compared_with = date == earlier->conditions.end() ? "unknown date" : date->second;
  hardware.link_changes = measure::link_changes(hardware, *earlier);
}

}  // namespace galvatron::app
