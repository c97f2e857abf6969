#pragma once
// What the groups of profile.h5 have in common: lists of structs as columns, curves end to end, maps as keys
// and values.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cost/profile.hpp"
#include "store/hdf5.hpp"

namespace galvatron::store::profile {

using Curves = std::vector<cost::Curve>;

/// Throws core::UserError.
[[noreturn]] void refuse(const std::string& text);

h5::Handle open_group(hid_t parent, const char* name);

/// One field of a list of structs as a column.
template <typename Out, typename List, typename Get>
std::vector<Out> column(const List& list, Get get) {
  std::vector<Out> values;
  for (const auto& item : list) values.push_back(static_cast<Out>(get(item)));
  return values;
}

/// Lists of items end to end: run i is values[first[i]] to values[first[i + 1]].
template <typename Value>
struct Runs {
  std::vector<int64_t> first = {0};
  std::vector<Value> values;

  void add(const std::vector<Value>& run) {
    values.insert(values.end(), run.begin(), run.end());
    first.push_back(static_cast<int64_t>(values.size()));
  }
};

template <typename List, typename Get>
std::vector<std::string> texts(const List& list, Get get) {
  return column<std::string>(list, get);
}

/// Throws core::UserError naming `what` unless all columns have `rows` rows.
void require_rows(const char* what, size_t rows, std::initializer_list<size_t> columns);

/// Throws core::UserError unless `first` cuts `values` values into `count` runs that follow one another.
void require_runs(const std::vector<int64_t>& first, size_t count, size_t values);

void write_curves(hid_t group, const Curves& curves, const std::string& x_unit, const std::string& x_meaning);
Curves read_curves(hid_t group, size_t count);

/// Columns `ranks`, `nodes`, `per_node` of the shapes of groups.
void write_shapes(hid_t group, const std::vector<cost::GroupShape>& shapes);
std::vector<cost::GroupShape> read_shapes(hid_t group, size_t count);

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
  require_rows("a table", keys.size(), {values.size()});
  std::map<std::string, Value> map;
  for (size_t i = 0; i < keys.size(); ++i) map[keys[i]] = values[i];
  return map;
}

}  // namespace galvatron::store::profile
