#pragma once
// A profile for machines that are not here: published figures for links, this machine's own compute.

#include <filesystem>

#include "app/context.hpp"
#include "cost/profile.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "search/options.hpp"
#include "spec/cluster.hpp"
#include "spec/model.hpp"

namespace galvatron::app {

/// The cluster that a deck describes; where it leaves that to MPI, one node with one rank. Memory that it
/// leaves open is what this machine has, divided by the ranks of a node.
spec::ClusterSpec described_cluster(const deck::ClusterSection& section);

/// Ranks that a deck describes; 0 where it leaves them to MPI.
int64_t described_ranks(const deck::ClusterSection& section);

/// A profile in a file: .h5, measured; else the figures of a cluster, marked nominal. Throws core::UserError.
cost::Profile profile_of_file(const std::filesystem::path& file, const spec::ModelSpec& model,
                              core::DType dtype);

/// The profile that a check plans with, without MPI: profile.file where the deck names one (.h5 measured,
/// .toml figures of a cluster), else the nominal cluster's links. Figures of a cluster get this process's
/// measured matrix-product peak, memory bandwidth and layer steps when it is the nominal one. Throws
/// core::UserError when a file is missing or wrong.
cost::Profile profile_without_ranks(Context& context, const spec::ModelSpec& model,
                                    const spec::ClusterSpec& cluster, const search::SearchOptions& options,
                                    device::Device& device, kernels::Kernels& kernels);

}  // namespace galvatron::app
