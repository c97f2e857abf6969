// Samples as they were taken, and what the budget of the measurement covered.
#include "store/profile_columns.hpp"
#include "store/profile_parts.hpp"

namespace galvatron::store::profile {

void write_coverage(hid_t file, const std::vector<cost::Coverage>& coverage) {
  using cost::Coverage;
  const auto group = h5::create_group(file, "coverage");
  const auto id = group.get();
  const auto numbers = [&](auto get) { return column<int64_t>(coverage, get); };
  const auto seconds = [&](auto get) { return column<double>(coverage, get); };
  h5::write_column(id, "phase", texts(coverage, [](const Coverage& c) { return c.phase; }),
                   "part of the measurement");
  h5::write_column(id, "allotted_seconds", seconds([](const Coverage& c) { return c.allotted_seconds; }), "s",
                   "what the budget gave it");
  h5::write_column(id, "spent_seconds", seconds([](const Coverage& c) { return c.spent_seconds; }), "s",
                   "what it took");
  h5::write_column(id, "done", numbers([](const Coverage& c) { return c.done; }), "1",
                   "how many were measured");
  h5::write_column(id, "wanted", numbers([](const Coverage& c) { return c.wanted; }), "1", "of how many");
  h5::write_column(id, "kept", numbers([](const Coverage& c) { return c.kept; }), "1",
                   "of those done: known from an earlier profile");
  h5::write_column(id, "of", texts(coverage, [](const Coverage& c) { return c.unit; }), "of what");
}

std::vector<cost::Coverage> read_coverage(hid_t file) {
  if (!h5::has(file, "coverage")) return {};
  const auto group = open_group(file, "coverage");
  const auto id = group.get();
  const auto phases = h5::read_texts(id, "phase"), units = h5::read_texts(id, "of");
  const auto allotted = h5::read_numbers(id, "allotted_seconds"),
             spent = h5::read_numbers(id, "spent_seconds");
  const auto done = h5::read_integers(id, "done"), wanted = h5::read_integers(id, "wanted");
  const auto kept = h5::read_integers(id, "kept");
  require_rows("the coverage", phases.size(),
               {units.size(), allotted.size(), spent.size(), done.size(), wanted.size(), kept.size()});
  std::vector<cost::Coverage> coverage;
  for (size_t i = 0; i < phases.size(); ++i)
    coverage.push_back({phases[i], allotted[i], spent[i], done[i], wanted[i], units[i], kept[i]});
  return coverage;
}

void write_raw(hid_t file, const RawTables& tables) {
  const auto raw = h5::create_group(file, "raw");
  for (const auto& [name, table] : tables) {
    const auto group = h5::create_group(raw.get(), name);
    const auto id = group.get();
    h5::write_attribute(id, "meaning", table.meaning);
    h5::write_attribute(id, "x_unit", table.x_unit);
    Runs<double> runs;
    for (const auto& series : table.series) runs.add(series.samples);
    const auto& all = table.series;
    h5::write_column(id, "of", texts(all, [](const RawSeries& s) { return s.of; }), "what was timed");
    h5::write_column(id, "x", column<double>(all, [](const RawSeries& s) { return s.x; }), table.x_unit,
                     "its size");
    h5::write_column(id, "rank", column<int64_t>(all, [](const RawSeries& s) { return s.rank; }), "rank",
                     "who timed it; -1 = the slowest of all ranks, sample by sample");
    h5::write_column(id, "first", runs.first, "samples", "series i is the samples first[i] to first[i + 1]");
    h5::write_column(id, "seconds", runs.values, "s", "in the order in which they were taken");
  }
}

RawTables read_raw(hid_t file) {
  RawTables tables;
  if (!h5::has(file, "raw")) return tables;
  const auto raw = open_group(file, "raw");
  for (const auto& name : h5::names_in(raw.get())) {
    const auto group = open_group(raw.get(), name.c_str());
    const auto id = group.get();
    auto& table = tables[name];
    table.meaning = h5::read_text_attribute(id, "meaning");
    table.x_unit = h5::read_text_attribute(id, "x_unit");
    const auto of = h5::read_texts(id, "of");
    const auto x = h5::read_numbers(id, "x"), samples = h5::read_numbers(id, "seconds");
    const auto ranks = h5::read_integers(id, "rank"), first = h5::read_integers(id, "first");
    require_rows("raw samples", of.size(), {x.size(), ranks.size()});
    require_runs(first, of.size(), samples.size());
    for (size_t i = 0; i < of.size(); ++i)
      table.series.push_back({of[i],
                              x[i],
                              static_cast<int32_t>(ranks[i]),
                              {samples.begin() + first[i], samples.begin() + first[i + 1]}});
  }
  return tables;
}

}  // namespace galvatron::store::profile
