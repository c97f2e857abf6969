// Names of placements, in decks and plan files.
#include "plan/placement.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::plan {

std::string_view name_of(Placement placement) {
  return placement == Placement::stage_major ? "stage-major" : "stage-minor";
}

Placement placement_named(std::string_view name) {
  for (const Placement placement : all_placements)
    if (name_of(placement) == name) return placement;
  throw core::UserError(core::format("no placement '{}': there are stage-major and stage-minor", name));
}

}  // namespace galvatron::plan
