// Links of profile.h5, one row per ordered pair of ranks, and the curves of one message per tier.
#include <utility>

#include "store/profile_columns.hpp"
#include "store/profile_parts.hpp"

namespace galvatron::store::profile {
namespace {

void write_link_rows(hid_t parent, const std::vector<cost::Link>& links) {
  using cost::Link;
  const auto group = h5::create_group(parent, "links");
  const auto id = group.get();
  h5::write_column(id, "from", column<int64_t>(links, [](const Link& l) { return l.from; }), "rank",
                   "sender");
  h5::write_column(id, "to", column<int64_t>(links, [](const Link& l) { return l.to; }), "rank", "receiver");
  h5::write_column(id, "latency_seconds",
                   column<double>(links, [](const Link& l) { return l.latency_seconds; }), "s",
                   "fit: a of a + bytes / b");
  h5::write_column(id, "bytes_per_second",
                   column<double>(links, [](const Link& l) { return l.bytes_per_second; }), "B/s",
                   "fit: b, nobody else talking");
  h5::write_column(id, "loaded_bytes_per_second",
                   column<double>(links, [](const Link& l) { return l.loaded_bytes_per_second; }), "B/s",
                   "while all pairs of the round talk");
}

std::vector<cost::Link> read_link_rows(hid_t parent) {
  const auto group = open_group(parent, "links");
  const auto from = h5::read_integers(group.get(), "from");
  const auto to = h5::read_integers(group.get(), "to");
  const auto latency = h5::read_numbers(group.get(), "latency_seconds");
  const auto alone = h5::read_numbers(group.get(), "bytes_per_second");
  const auto loaded = h5::read_numbers(group.get(), "loaded_bytes_per_second");
  require_rows("links", from.size(), {to.size(), latency.size(), alone.size(), loaded.size()});
  std::vector<cost::Link> links;
  for (size_t i = 0; i < from.size(); ++i)
    links.push_back(
        {static_cast<int32_t>(from[i]), static_cast<int32_t>(to[i]), latency[i], alone[i], loaded[i]});
  return links;
}

}  // namespace

void write_links(hid_t hardware_group, const cost::HardwareProfile& hardware) {
  write_link_rows(hardware_group, hardware.links);
  const auto transfer = h5::create_group(hardware_group, "transfer");
  write_curves(transfer.get(), {hardware.transfer_same_node, hardware.transfer_across}, "B",
               "one message; curve 0 inside a node, curve 1 between nodes, all pairs of a round talking");
}

void read_links(hid_t hardware_group, cost::HardwareProfile& hardware) {
  hardware.links = read_link_rows(hardware_group);
  auto transfer = read_curves(open_group(hardware_group, "transfer").get(), 2);
  hardware.transfer_same_node = std::move(transfer[0]);
  hardware.transfer_across = std::move(transfer[1]);
}

}  // namespace galvatron::store::profile
