#pragma once
// Lists of numbers of different lengths, from every rank to every rank, over the control plane.

#include <span>
#include <vector>

#include "comm/world.hpp"

namespace galvatron::measure {

/// One list per rank, on every rank, bit for bit. Collective.
std::vector<std::vector<double>> gather_numbers(comm::World& world, std::span<const double> mine);

}  // namespace galvatron::measure
