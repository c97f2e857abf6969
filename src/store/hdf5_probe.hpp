#pragma once
// Whether HDF5 and the file system get on with each other: a small file, written by one rank, read by all.

#include <filesystem>

namespace galvatron::store {

/// Makes the file. Throws DiskError.
void write_hdf5_probe(const std::filesystem::path& file);

/// Reads it back. Throws UserError (environment) when it holds something else, DiskError when it cannot be
/// read.
void read_hdf5_probe(const std::filesystem::path& file);

}  // namespace galvatron::store
