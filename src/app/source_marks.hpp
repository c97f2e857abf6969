#pragma once
// Hashes of the sources that measurements depend on. The build writes the values.

#include <string_view>

namespace galvatron::app {

extern const std::string_view talk_sources, compute_sources;

}  // namespace galvatron::app
