// The machine in profile.h5: who it is, its peaks, the memory that its programs take, its conditions.
#include <array>

#include "store/profile_columns.hpp"
#include "store/profile_parts.hpp"

namespace galvatron::store::profile {
namespace {

constexpr std::array unit_names = {"communicator", "window member", "thread"};

std::array<int64_t*, 3> fields(cost::ReserveUnits& units) {
  return {&units.communicator, &units.window_member, &units.thread};
}

void write_reserve(hid_t group, const cost::HardwareProfile& hardware) {
  h5::write_attribute(group, "reserve_bytes", hardware.reserve_bytes);
  write_map(group, "reserve", hardware.reserve_parts, "what the bytes are for", "B",
            "memory per rank outside the arena");
  auto units = hardware.reserve_units;
  std::map<std::string, int64_t> named;
  for (size_t i = 0; i < unit_names.size(); ++i) named[unit_names[i]] = *fields(units)[i];
  write_map(group, "reserve_units", named, "what a plan makes a rank hold", "B",
            "memory per rank for each of them");
}

void read_reserve(hid_t group, cost::HardwareProfile& hardware) {
  hardware.reserve_bytes = h5::read_integer_attribute(group, "reserve_bytes");
  const auto read = [&](const char* name) {
    const auto columns = open_group(group, name);
    return joined(h5::read_texts(columns.get(), "key"), h5::read_integers(columns.get(), "value"));
  };
  hardware.reserve_parts = read("reserve");
  if (!h5::has(group, "reserve_units")) return;
  auto named = read("reserve_units");
  for (size_t i = 0; i < unit_names.size(); ++i) *fields(hardware.reserve_units)[i] = named[unit_names[i]];
}

void write_peaks(hid_t group, const cost::HardwareProfile& hardware) {
  h5::write_column(group, "gemm_flops", hardware.gemm_flops, "FLOP/s",
                   "per rank, all ranks of its node busy, in the precision of /model");
  h5::write_column(group, "memory_bytes_per_second", hardware.memory_bytes_per_second, "B/s",
                   "per rank, all ranks of its node busy");
  const auto peaks = h5::create_group(group, "gemm_peaks");
  for (const auto& [dtype, flops] : hardware.gemm_peaks)
    h5::write_column(peaks.get(), std::string(core::name(dtype)), flops, "FLOP/s",
                     "per rank, all ranks of its node busy, in this precision");
}

void read_peaks(hid_t group, cost::HardwareProfile& hardware) {
  hardware.gemm_flops = h5::read_numbers(group, "gemm_flops");
  hardware.memory_bytes_per_second = h5::read_numbers(group, "memory_bytes_per_second");
  if (!h5::has(group, "gemm_peaks")) return;
  const auto peaks = open_group(group, "gemm_peaks");
  for (const auto& name : h5::names_in(peaks.get()))
    hardware.gemm_peaks[h5::dtype_named(name)] = h5::read_numbers(peaks.get(), name);
}

}  // namespace

void write_hardware(hid_t file, const cost::HardwareProfile& hardware) {
  const auto group = h5::create_group(file, "hardware");
  const auto id = group.get();
  h5::write_attribute(id, "meaning", std::string("the machine: links, collectives, peaks"));
  h5::write_attribute(id, "fingerprint", hardware.fingerprint);
  h5::write_attribute(id, "ranks", hardware.ranks);
  h5::write_attribute(id, "nodes", hardware.nodes);
  h5::write_attribute(id, "ranks_per_node", hardware.ranks_per_node);
  h5::write_attribute(id, "threads", int64_t{hardware.threads});
  h5::write_attribute(id, "nominal", int64_t{hardware.nominal ? 1 : 0});
  h5::write_column(id, "hosts", hardware.hosts, "one host name per node");
  write_links(id, hardware);
  write_collectives(id, hardware);
  write_peaks(id, hardware);
  write_reserve(id, hardware);
  write_map(id, "conditions", hardware.conditions, "name of a condition",
            "date, versions, processor, clock, binding");
}

cost::HardwareProfile read_hardware(hid_t file) {
  const auto group = open_group(file, "hardware");
  const auto id = group.get();
  cost::HardwareProfile hardware;
  hardware.fingerprint = h5::read_text_attribute(id, "fingerprint");
  hardware.ranks = h5::read_integer_attribute(id, "ranks");
  hardware.nodes = h5::read_integer_attribute(id, "nodes");
  hardware.ranks_per_node = h5::read_integer_attribute(id, "ranks_per_node");
  hardware.threads = static_cast<int32_t>(h5::read_integer_attribute(id, "threads"));
  hardware.nominal = h5::read_integer_attribute(id, "nominal") != 0;
  hardware.hosts = h5::read_texts(id, "hosts");
  read_links(id, hardware);
  read_collectives(id, hardware);
  read_peaks(id, hardware);
  read_reserve(id, hardware);
  const auto conditions = open_group(id, "conditions");
  hardware.conditions =
      joined(h5::read_texts(conditions.get(), "key"), h5::read_texts(conditions.get(), "value"));
  return hardware;
}

}  // namespace galvatron::store::profile
