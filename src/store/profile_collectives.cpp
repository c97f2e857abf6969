// Collectives of profile.h5: curves per kind and group shape, the form that is fastest from which size on,
// what they and computation cost each other, and how late the last member is.
#include <utility>

#include "store/profile_columns.hpp"
#include "store/profile_parts.hpp"

namespace galvatron::store::profile {
namespace {

void write_curves_of_kinds(hid_t parent, const std::map<cost::CollectiveKey, cost::Curve>& collectives) {
  const auto group = h5::create_group(parent, "collectives");
  const auto id = group.get();
  h5::write_column(id, "kind",
                   texts(collectives, [](const auto& entry) { return core::name_of(entry.first.kind); }),
                   "which collective");
  write_shapes(id,
               column<cost::GroupShape>(collectives, [](const auto& entry) { return entry.first.shape; }));
  write_curves(id, column<cost::Curve>(collectives, [](const auto& entry) { return entry.second; }), "B",
               "bytes of the whole (gathered, unreduced, reduced) tensor");
}

std::map<cost::CollectiveKey, cost::Curve> read_curves_of_kinds(hid_t parent) {
  const auto group = open_group(parent, "collectives");
  const auto kinds = h5::read_texts(group.get(), "kind");
  const auto shapes = read_shapes(group.get(), kinds.size());
  auto curves = read_curves(group.get(), kinds.size());
  std::map<cost::CollectiveKey, cost::Curve> collectives;
  for (size_t i = 0; i < kinds.size(); ++i)
    collectives[{core::collective_named(kinds[i]), shapes[i]}] = std::move(curves[i]);
  return collectives;
}

void write_forms(hid_t parent, const std::vector<core::FormChoice>& forms) {
  const auto group = h5::create_group(parent, "forms");
  const auto id = group.get();
  h5::write_column(id, "kind", texts(forms, [](const auto& c) { return core::name_of(c.row.kind); }),
                   "which collective");
  write_shapes(id, column<cost::GroupShape>(forms, [](const auto& c) {
                 return cost::GroupShape{c.ranks, c.nodes, c.per_node};
               }));
  h5::write_column(id, "from_bytes", column<int64_t>(forms, [](const auto& c) { return c.row.from_bytes; }),
                   "B", "bytes of the whole tensor from which on it is the fastest form");
  h5::write_column(id, "form", texts(forms, [](const auto& c) { return core::name_of(c.row.form); }),
                   "direct, hierarchical or shared");
}

/// Profiles of other writers may leave the group out: everything is direct then.
std::vector<core::FormChoice> read_forms(hid_t parent) {
  if (!h5::has(parent, "forms")) return {};
  const auto group = open_group(parent, "forms");
  const auto kinds = h5::read_texts(group.get(), "kind"), forms = h5::read_texts(group.get(), "form");
  const auto shapes = read_shapes(group.get(), kinds.size());
  const auto from = h5::read_integers(group.get(), "from_bytes");
  require_rows("forms", kinds.size(), {forms.size(), from.size()});
  std::vector<core::FormChoice> out;
  for (size_t i = 0; i < kinds.size(); ++i)
    out.push_back({shapes[i].ranks,
                   shapes[i].nodes,
                   shapes[i].per_node,
                   {core::collective_named(kinds[i]), from[i], core::form_named(forms[i])}});
  return out;
}

void write_interference(hid_t parent, const std::vector<cost::Interference>& rows) {
  using Row = cost::Interference;
  const auto group = h5::create_group(parent, "interference");
  const auto id = group.get();
  h5::write_column(id, "kind", texts(rows, [](const Row& r) { return core::name_of(r.kind); }),
                   "which collective runs beside a matrix product");
  write_shapes(id, column<cost::GroupShape>(rows, [](const Row& r) { return r.shape; }));
  h5::write_column(id, "bytes", column<double>(rows, [](const Row& r) { return r.bytes; }), "B",
                   "bytes of the whole tensor");
  h5::write_column(id, "compute", column<double>(rows, [](const Row& r) { return r.compute; }), "1",
                   "time of the product beside the collective over its time alone");
  h5::write_column(id, "collective", column<double>(rows, [](const Row& r) { return r.collective; }), "1",
                   "time of the collective beside the product over its time alone");
}

std::vector<cost::Interference> read_interference(hid_t parent) {
  if (!h5::has(parent, "interference")) return {};
  const auto group = open_group(parent, "interference");
  const auto kinds = h5::read_texts(group.get(), "kind");
  const auto shapes = read_shapes(group.get(), kinds.size());
  const auto bytes = h5::read_numbers(group.get(), "bytes");
  const auto compute = h5::read_numbers(group.get(), "compute");
  const auto collective = h5::read_numbers(group.get(), "collective");
  require_rows("interference", kinds.size(), {bytes.size(), compute.size(), collective.size()});
  std::vector<cost::Interference> rows;
  for (size_t i = 0; i < kinds.size(); ++i)
    rows.push_back({core::collective_named(kinds[i]), shapes[i], bytes[i], compute[i], collective[i]});
  return rows;
}

void write_lateness(hid_t parent, const std::map<cost::GroupShape, cost::Curve>& lateness) {
  const auto group = h5::create_group(parent, "lateness");
  write_shapes(group.get(),
               column<cost::GroupShape>(lateness, [](const auto& entry) { return entry.first; }));
  write_curves(group.get(), column<cost::Curve>(lateness, [](const auto& entry) { return entry.second; }),
               "s", "seconds that all compute before they meet");
}

/// Profiles of other writers may leave the group out: nobody is late then.
std::map<cost::GroupShape, cost::Curve> read_lateness(hid_t parent) {
  if (!h5::has(parent, "lateness")) return {};
  const auto group = open_group(parent, "lateness");
  const auto ranks = h5::read_integers(group.get(), "ranks").size();
  const auto shapes = read_shapes(group.get(), ranks);
  auto curves = read_curves(group.get(), ranks);
  std::map<cost::GroupShape, cost::Curve> lateness;
  for (size_t i = 0; i < ranks; ++i) lateness[shapes[i]] = std::move(curves[i]);
  return lateness;
}

}  // namespace

void write_collectives(hid_t hardware_group, const cost::HardwareProfile& hardware) {
  write_curves_of_kinds(hardware_group, hardware.collectives);
  write_forms(hardware_group, hardware.forms);
  write_interference(hardware_group, hardware.interference);
  write_lateness(hardware_group, hardware.lateness);
}

void read_collectives(hid_t hardware_group, cost::HardwareProfile& hardware) {
  hardware.collectives = read_curves_of_kinds(hardware_group);
  hardware.forms = read_forms(hardware_group);
  hardware.interference = read_interference(hardware_group);
  hardware.lateness = read_lateness(hardware_group);
}

}  // namespace galvatron::store::profile
