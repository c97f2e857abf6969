#pragma once
// Lists of numbers of different lengths, from every rank to every rank, over the control plane.

#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/world.hpp"
#include "device/device.hpp"
#include "store/profile_file.hpp"

namespace galvatron::measure {

/// One list per rank, on every rank, bit for bit. Collective.
std::vector<std::vector<double>> gather_numbers(comm::World& world, std::span<const double> mine);

/// The largest of the ranks' numbers, on every rank. Collective.
double largest_of(comm::World& world, double mine);

/// Adds a series for each rank with what that rank measured, on every rank. Collective.
void keep_samples(comm::World& world, const std::string& of, double x, std::span<const double> mine,
                  store::RawTable& raw);

/// One list per rank on rank 0, nothing on the others; one list is under way at a time, for long ones. `comm`
/// is over all ranks in their order, with operands in memory of `device`. Collective.
std::vector<std::vector<double>> gather_to_first(comm::World& world, comm::Communicator& comm,
                                                 device::Device& device, std::span<const double> mine);

}  // namespace galvatron::measure
