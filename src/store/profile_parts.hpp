#pragma once
// The groups of profile.h5, one file each: how their values become columns and come back. Readers throw
// core::UserError when columns do not fit together; groups that other writers leave out are empty.

#include "cost/profile.hpp"
#include "store/hdf5.hpp"
#include "store/profile_file.hpp"

namespace galvatron::store::profile {

/// /hardware and everything in it.
void write_hardware(hid_t file, const cost::HardwareProfile& hardware);
cost::HardwareProfile read_hardware(hid_t file);

/// links and transfer, in /hardware.
void write_links(hid_t hardware_group, const cost::HardwareProfile& hardware);
void read_links(hid_t hardware_group, cost::HardwareProfile& hardware);

/// collectives, forms and interference, in /hardware.
void write_collectives(hid_t hardware_group, const cost::HardwareProfile& hardware);
void read_collectives(hid_t hardware_group, cost::HardwareProfile& hardware);

/// /model and everything in it.
void write_model(hid_t file, const cost::ModelProfile& model);
cost::ModelProfile read_model(hid_t file);

/// /coverage.
void write_coverage(hid_t file, const std::vector<cost::Coverage>& coverage);
std::vector<cost::Coverage> read_coverage(hid_t file);

/// /raw.
void write_raw(hid_t file, const RawTables& tables);
RawTables read_raw(hid_t file);

}  // namespace galvatron::store::profile
