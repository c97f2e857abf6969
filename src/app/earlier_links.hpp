#pragma once
// The link map of an earlier run, to see whether hardware has changed since.

#include <optional>

#include "app/job.hpp"
#include "cost/profile.hpp"

namespace galvatron::app {

/// The profile that profile.compare names, else `known`, the one of the run folder where it was read already,
/// else the one that lies there; before measuring writes over it. One in the run folder that cannot be read
/// counts as none, with a warning. Throws core::AgreedError when the named one is missing or damaged.
/// Collective.
std::optional<cost::HardwareProfile> links_to_compare_with(Job& job, const cost::HardwareProfile* known);

/// Notes what differs from `earlier`, and the number of the Slurm job, under which options of Slurm are of
/// use. Collective.
void note_link_conditions(Job& job, const std::optional<cost::HardwareProfile>& earlier,
                          cost::HardwareProfile& hardware);

}  // namespace galvatron::app
