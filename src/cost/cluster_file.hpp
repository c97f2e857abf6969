#pragma once
// A machine described by a few published figures in a TOML file: for planning on hardware that nobody has
// measured.

#include <string>
#include <string_view>

#include "cost/profile.hpp"

namespace galvatron::cost {

/// Marked nominal: every price made from it is flagged as modelled. `file` names the text in errors. Throws
/// core::UserError with all problems at once.
HardwareProfile hardware_from_toml(std::string_view text, const std::string& file);

}  // namespace galvatron::cost
