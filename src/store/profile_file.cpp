// The schema of profile.h5: one column per field, curves end to end with a column that says where each
// begins.
#include "store/profile_file.hpp"

#include <array>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/file.hpp"
#include "store/hdf5.hpp"
#include "store/sealed_file.hpp"

namespace galvatron::store {
namespace {

using Curves = std::vector<cost::Curve>;

[[noreturn]] void refuse(const std::string& text) {
  throw core::UserError(text);
}

h5::Handle open_group(hid_t parent, const char* name) {
  return h5::Handle(GALV_H5(H5Gopen2(parent, name, H5P_DEFAULT)), H5Gclose);
}

/// One field of a list of structs as a column.
template <typename Out, typename List, typename Get>
std::vector<Out> column(const List& list, Get get) {
  std::vector<Out> values;
  for (const auto& item : list) values.push_back(static_cast<Out>(get(item)));
  return values;
}

void write_curves(hid_t group, const Curves& curves, const std::string& x_unit,
                  const std::string& x_meaning) {
  std::vector<int64_t> first = {0};
  std::vector<cost::Curve::Point> points;
  for (const auto& curve : curves) {
    points.insert(points.end(), curve.points.begin(), curve.points.end());
    first.push_back(static_cast<int64_t>(points.size()));
  }
  using Point = cost::Curve::Point;
  const auto numbers = [&](double Point::*field) {
    return column<double>(points, [field](const Point& p) { return p.*field; });
  };
  h5::write_column(group, "first", first, "points", "curve i is the points first[i] to first[i + 1]");
  h5::write_column(group, "x", numbers(&Point::x), x_unit, x_meaning);
  h5::write_column(group, "seconds", numbers(&Point::seconds), "s", "median over the samples");
  h5::write_column(group, "minimum", numbers(&Point::minimum), "s", "least of the samples");
  h5::write_column(group, "p95", numbers(&Point::p95), "s", "95th percentile of the samples");
  h5::write_column(group, "samples", column<int64_t>(points, [](const Point& p) { return p.samples; }), "1",
                   "how many samples the point stands for");
}

Curves read_curves(hid_t group, size_t count) {
  const auto first = h5::read_integers(group, "first");
  const auto x = h5::read_numbers(group, "x");
  const auto seconds = h5::read_numbers(group, "seconds");
  const auto minimum = h5::read_numbers(group, "minimum");
  const auto p95 = h5::read_numbers(group, "p95");
  const auto samples = h5::read_integers(group, "samples");
  const auto points = static_cast<int64_t>(x.size());
  if (first.size() != count + 1 || first.front() != 0 || first.back() != points ||
      seconds.size() != x.size() || minimum.size() != x.size() || p95.size() != x.size() ||
      samples.size() != x.size())
    refuse("columns of curves differ in length");
  Curves curves(count);
  for (size_t c = 0; c < count; ++c) {
    if (first[c + 1] < first[c] || first[c + 1] > points) refuse("a curve ends before it begins");
    for (auto i = static_cast<size_t>(first[c]); i < static_cast<size_t>(first[c + 1]); ++i)
      curves[c].points.push_back({x[i], seconds[i], minimum[i], p95[i], samples[i]});
  }
  return curves;
}

void write_links(hid_t parent, const std::vector<cost::Link>& links) {
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

std::vector<cost::Link> read_links(hid_t parent) {
  const auto group = open_group(parent, "links");
  const auto from = h5::read_integers(group.get(), "from");
  const auto to = h5::read_integers(group.get(), "to");
  const auto latency = h5::read_numbers(group.get(), "latency_seconds");
  const auto alone = h5::read_numbers(group.get(), "bytes_per_second");
  const auto loaded = h5::read_numbers(group.get(), "loaded_bytes_per_second");
  if (to.size() != from.size() || latency.size() != from.size() || alone.size() != from.size() ||
      loaded.size() != from.size())
    refuse("columns of links differ in length");
  std::vector<cost::Link> links;
  for (size_t i = 0; i < from.size(); ++i)
    links.push_back(
        {static_cast<int32_t>(from[i]), static_cast<int32_t>(to[i]), latency[i], alone[i], loaded[i]});
  return links;
}

void write_collectives(hid_t parent, const std::map<cost::CollectiveKey, cost::Curve>& collectives) {
  const auto group = h5::create_group(parent, "collectives");
  const auto id = group.get();
  const auto shape = [&](int32_t cost::GroupShape::*field) {
    return column<int64_t>(collectives, [field](const auto& entry) { return entry.first.shape.*field; });
  };
  std::vector<std::string> kinds;
  Curves curves;
  for (const auto& [key, curve] : collectives) {
    kinds.emplace_back(core::name_of(key.kind));
    curves.push_back(curve);
  }
  h5::write_column(id, "kind", kinds, "which collective");
  h5::write_column(id, "ranks", shape(&cost::GroupShape::ranks), "1", "members of the group");
  h5::write_column(id, "nodes", shape(&cost::GroupShape::nodes), "1", "nodes that the group lies on");
  h5::write_column(id, "per_node", shape(&cost::GroupShape::per_node), "1", "most members on one node");
  write_curves(id, curves, "B", "bytes of the whole (gathered, unreduced, reduced) tensor");
}

std::map<cost::CollectiveKey, cost::Curve> read_collectives(hid_t parent) {
  const auto group = open_group(parent, "collectives");
  const auto kinds = h5::read_texts(group.get(), "kind");
  const auto ranks = h5::read_integers(group.get(), "ranks");
  const auto nodes = h5::read_integers(group.get(), "nodes");
  const auto per_node = h5::read_integers(group.get(), "per_node");
  if (ranks.size() != kinds.size() || nodes.size() != kinds.size() || per_node.size() != kinds.size())
    refuse("columns of collectives differ in length");
  auto curves = read_curves(group.get(), kinds.size());
  std::map<cost::CollectiveKey, cost::Curve> collectives;
  for (size_t i = 0; i < kinds.size(); ++i)
    collectives[{core::collective_named(kinds[i]),
                 {static_cast<int32_t>(ranks[i]), static_cast<int32_t>(nodes[i]),
                  static_cast<int32_t>(per_node[i])}}] = std::move(curves[i]);
  return collectives;
}

void write_forms(hid_t parent, const std::vector<core::FormChoice>& forms) {
  const auto group = h5::create_group(parent, "forms");
  const auto id = group.get();
  const auto texts = [&](auto get) {
    std::vector<std::string> out;
    for (const auto& choice : forms) out.emplace_back(get(choice));
    return out;
  };
  const auto numbers = [&](auto get) { return column<int64_t>(forms, get); };
  h5::write_column(id, "kind", texts([](const auto& c) { return core::name_of(c.row.kind); }),
                   "which collective");
  h5::write_column(id, "ranks", numbers([](const auto& c) { return c.ranks; }), "1", "members of the group");
  h5::write_column(id, "nodes", numbers([](const auto& c) { return c.nodes; }), "1",
                   "nodes that the group lies on");
  h5::write_column(id, "per_node", numbers([](const auto& c) { return c.per_node; }), "1",
                   "most members on one node");
  h5::write_column(id, "from_bytes", numbers([](const auto& c) { return c.row.from_bytes; }), "B",
                   "bytes of the whole tensor from which on it is the fastest form");
  h5::write_column(id, "form", texts([](const auto& c) { return core::name_of(c.row.form); }),
                   "direct, hierarchical or shared");
}

/// Profiles of other writers may leave the group out: everything is direct then.
std::vector<core::FormChoice> read_forms(hid_t parent) {
  if (GALV_H5(H5Lexists(parent, "forms", H5P_DEFAULT)) == 0) return {};
  const auto group = open_group(parent, "forms");
  const auto kinds = h5::read_texts(group.get(), "kind"), forms = h5::read_texts(group.get(), "form");
  const auto ranks = h5::read_integers(group.get(), "ranks"), nodes = h5::read_integers(group.get(), "nodes");
  const auto per_node = h5::read_integers(group.get(), "per_node");
  const auto from = h5::read_integers(group.get(), "from_bytes");
  for (const auto size : {forms.size(), ranks.size(), nodes.size(), per_node.size(), from.size()})
    if (size != kinds.size()) refuse("columns of forms differ in length");
  std::vector<core::FormChoice> out;
  for (size_t i = 0; i < kinds.size(); ++i)
    out.push_back({static_cast<int32_t>(ranks[i]),
                   static_cast<int32_t>(nodes[i]),
                   static_cast<int32_t>(per_node[i]),
                   {core::collective_named(kinds[i]), from[i], core::form_named(forms[i])}});
  return out;
}

/// A map as two columns, keys and values.
template <typename Value, typename... Unit>
void write_map(hid_t parent, const char* name, const std::map<std::string, Value>& map, const char* keys_mean,
               const Unit&... unit_and_meaning) {
  const auto group = h5::create_group(parent, name);
  std::vector<std::string> keys;
  std::vector<Value> values;
  for (const auto& [key, value] : map) {
    keys.push_back(key);
    values.push_back(value);
  }
  h5::write_column(group.get(), "key", keys, keys_mean);
  h5::write_column(group.get(), "value", values, unit_and_meaning...);
}

template <typename Value>
std::map<std::string, Value> joined(const std::vector<std::string>& keys, const std::vector<Value>& values) {
  if (keys.size() != values.size()) refuse("columns of a table differ in length");
  std::map<std::string, Value> map;
  for (size_t i = 0; i < keys.size(); ++i) map[keys[i]] = values[i];
  return map;
}

void write_hardware(hid_t file, const cost::HardwareProfile& hardware) {
  const auto group = h5::create_group(file, "hardware");
  const auto id = group.get();
  h5::write_attribute(id, "meaning", std::string("the machine: links, collectives, peaks"));
  h5::write_attribute(id, "ranks", hardware.ranks);
  h5::write_attribute(id, "nodes", hardware.nodes);
  h5::write_attribute(id, "ranks_per_node", hardware.ranks_per_node);
  h5::write_attribute(id, "threads", int64_t{hardware.threads});
  h5::write_attribute(id, "reserve_bytes", hardware.reserve_bytes);
  h5::write_attribute(id, "nominal", int64_t{hardware.nominal ? 1 : 0});
  h5::write_column(id, "hosts", hardware.hosts, "one host name per node");
  write_links(id, hardware.links);
  const auto transfer = h5::create_group(id, "transfer");
  write_curves(transfer.get(), {hardware.transfer_same_node, hardware.transfer_across}, "B",
               "one message; curve 0 inside a node, curve 1 between nodes, all pairs of a round talking");
  write_collectives(id, hardware.collectives);
  write_forms(id, hardware.forms);
  h5::write_column(id, "gemm_flops", hardware.gemm_flops, "FLOP/s", "per rank, all ranks of its node busy");
  h5::write_column(id, "memory_bytes_per_second", hardware.memory_bytes_per_second, "B/s",
                   "per rank, all ranks of its node busy");
  write_map(id, "reserve", hardware.reserve_parts, "what the bytes are for", "B",
            "memory per rank outside the arena");
  write_map(id, "conditions", hardware.conditions, "name of a condition",
            "date, versions, processor, binding");
}

cost::HardwareProfile read_hardware(hid_t file) {
  const auto group = open_group(file, "hardware");
  const auto id = group.get();
  cost::HardwareProfile hardware;
  hardware.ranks = h5::read_integer_attribute(id, "ranks");
  hardware.nodes = h5::read_integer_attribute(id, "nodes");
  hardware.ranks_per_node = h5::read_integer_attribute(id, "ranks_per_node");
  hardware.threads = static_cast<int32_t>(h5::read_integer_attribute(id, "threads"));
  hardware.reserve_bytes = h5::read_integer_attribute(id, "reserve_bytes");
  hardware.nominal = h5::read_integer_attribute(id, "nominal") != 0;
  hardware.hosts = h5::read_texts(id, "hosts");
  hardware.links = read_links(id);
  auto transfer = read_curves(open_group(id, "transfer").get(), 2);
  hardware.transfer_same_node = std::move(transfer[0]);
  hardware.transfer_across = std::move(transfer[1]);
  hardware.collectives = read_collectives(id);
  hardware.forms = read_forms(id);
  hardware.gemm_flops = h5::read_numbers(id, "gemm_flops");
  hardware.memory_bytes_per_second = h5::read_numbers(id, "memory_bytes_per_second");
  const auto reserve = open_group(id, "reserve");
  hardware.reserve_parts =
      joined(h5::read_texts(reserve.get(), "key"), h5::read_integers(reserve.get(), "value"));
  const auto conditions = open_group(id, "conditions");
  hardware.conditions =
      joined(h5::read_texts(conditions.get(), "key"), h5::read_texts(conditions.get(), "value"));
  return hardware;
}

void write_model(hid_t file, const cost::ModelProfile& model) {
  const auto group = h5::create_group(file, "model");
  h5::write_attribute(group.get(), "meaning", std::string("the model's compute steps on this machine"));
  h5::write_attribute(group.get(), "fingerprint", model.model_fingerprint);
  h5::write_attribute(group.get(), "dtype", std::string(core::name(model.dtype)));
  h5::write_column(group.get(), "loader_seconds_per_token",
                   std::vector<double>{model.loader_seconds_per_token}, "s",
                   "reading and cutting of training data");
  const auto steps = h5::create_group(group.get(), "steps");
  std::vector<std::string> keys;
  Curves curves;
  for (const auto& [key, curve] : model.steps) {
    keys.push_back(key);
    curves.push_back(curve);
  }
  h5::write_column(steps.get(), "signature", keys, "a compute step without its row count");
  write_curves(steps.get(), curves, "rows", "tokens, or samples for attention");
}

cost::ModelProfile read_model(hid_t file) {
  const auto group = open_group(file, "model");
  cost::ModelProfile model;
  model.model_fingerprint = h5::read_text_attribute(group.get(), "fingerprint");
  model.dtype = h5::dtype_named(h5::read_text_attribute(group.get(), "dtype"));
  const auto loader = h5::read_numbers(group.get(), "loader_seconds_per_token");
  if (loader.size() != 1) refuse("'loader_seconds_per_token' is not one number");
  model.loader_seconds_per_token = loader[0];
  const auto steps = open_group(group.get(), "steps");
  const auto keys = h5::read_texts(steps.get(), "signature");
  model.steps = joined(keys, read_curves(steps.get(), keys.size()));
  return model;
}

}  // namespace

void write_profile(const std::filesystem::path& path, const cost::Profile& profile,
                   const std::map<std::string, RawSamples>& raw) {
  auto temporary = path;
  temporary += ".tmp";
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  const ScratchFile scratch;
  {
    auto file = h5::create_file(scratch.path(), user_block_bytes);
    scratch.hide();
    h5::write_attribute(file.get(), "program", std::string("galvatron"));
    h5::write_attribute(file.get(), "meaning", std::string("profile; see docs/files.md of the program"));
    h5::write_attribute(file.get(), "fingerprint", profile.fingerprint);
    write_hardware(file.get(), profile.hardware);
    write_model(file.get(), profile.model);
    {
      const auto group = h5::create_group(file.get(), "raw");
      for (const auto& [name, samples] : raw)
        h5::write_column(group.get(), name, samples.values, samples.unit, samples.meaning);
    }
    file.close();
  }
  const File file(temporary, File::Mode::create);
  scratch.copy_to(file);
  seal(file, SealedKind::profile, 0, 0);
  file.sync();
  rename_file(temporary, path);
}

cost::Profile read_profile(const std::filesystem::path& path) {
  cost::Profile profile;
  try {
    open_sealed(path, SealedKind::profile);
    name_file(path, [&] {
      const auto file = h5::open_file(path);
      profile.fingerprint = h5::read_text_attribute(file.get(), "fingerprint");
      profile.hardware = read_hardware(file.get());
      profile.model = read_model(file.get());
    });
  } catch (const core::UserError& error) {
    throw core::UserError(error.what());  // a profile is an input like the deck that names it
  }
  return profile;
}

}  // namespace galvatron::store
