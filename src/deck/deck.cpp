// The order of reading: sections by their tables, keys that nobody knows, values that the deck leaves to its
// other values, contradictions; then either all problems at once or the deck.
#include "deck/deck.hpp"

#include "deck/checks.hpp"
#include "deck/tables.hpp"

namespace galvatron::deck {
namespace {

/// Calls `visit(table, member)` for each section in the order of the manual.
template <typename Visitor>
void for_each_section(Visitor visit) {
  visit(run_table(), &DeckValues::run);
  visit(model_table(), &DeckValues::model);
  visit(data_table(), &DeckValues::data);
  visit(cluster_table(), &DeckValues::cluster);
  visit(profile_table(), &DeckValues::profile);
  visit(search_table(), &DeckValues::search);
  visit(galvatron_table(), &DeckValues::galvatron);
  visit(plan_table(), &DeckValues::plan);
  visit(train_table(), &DeckValues::train);
  visit(checkpoint_table(), &DeckValues::checkpoint);
}

const char* const manual_opening =
    "# The deck\n"
    "\n"
    "A deck is a TOML file with one key per line. This page is the output of `galvatron manual`.\n"
    "Every key has a default, so a deck holds only what differs. On the command line `section.key=VALUE` "
    "sets a\n"
    "key; VALUE is TOML, and what is not TOML is taken as a string. Relative paths are relative to the "
    "working\n"
    "directory. All problems of a deck are reported at once, with exit code 2. The effective deck, with "
    "every\n"
    "default and override filled in, is written to the run folder; running it gives the same run.\n";

Origin origin_of(const Source& source, const std::string& section, const FieldInfo& field,
                 const Value& value) {
  for (const Entry& entry : source.entries)
    if (entry.section == section && entry.key == field.key)
      return entry.place.line > 0 ? Origin::file : Origin::command_line;
  return value == field.standard ? Origin::standard : Origin::other_keys;
}

}  // namespace

bool PlanSection::by_hand() const {
  PlanSection only_file;
  only_file.file = file;
  return *this != only_file;
}

DeckValues parse_deck(std::string_view bytes, const std::string& filename,
                      const std::vector<std::string>& overrides) {
  Source source = read_toml(bytes);
  for (const auto& argument : overrides) read_override(argument, source);
  Reader reader(std::move(source), filename);

  DeckValues values;
  std::vector<SectionInfo> sections;
  for_each_section([&](const auto& table, auto member) {
    values.*member = table.read(reader);
    sections.push_back(table.info());
  });
  reader.report_unknown(sections);
  fill_in(reader, values);
  check_contradictions(reader, values);
  reader.finish();
  return values;
}

std::string to_toml(const DeckValues& values) {
  std::string out;
  for_each_section([&](const auto& table, auto member) {
    if (!out.empty()) out += "\n";
    out += table.print(values.*member);
  });
  return out;
}

std::vector<KeyRow> key_rows(std::string_view bytes, const std::string& filename,
                             const std::vector<std::string>& overrides) {
  const DeckValues deck = parse_deck(bytes, filename, overrides);
  Source source = read_toml(bytes);
  for (const auto& argument : overrides) read_override(argument, source);
  std::vector<KeyRow> rows;
  for_each_section([&](const auto& table, auto member) {
    const auto& info = table.info();
    const auto values = table.values(deck.*member);
    for (size_t i = 0; i < values.size(); ++i) {
      const FieldInfo& field = info.fields[i];
      rows.push_back({info.name, field.key, to_toml(values[i], field.rule), field.unit, field.meaning,
                      origin_of(source, info.name, field, values[i])});
    }
  });
  return rows;
}

std::string manual() {
  std::string out = manual_opening;
  for_each_section([&](const auto& table, auto) { out += "\n" + table.document(); });
  return out;
}

}  // namespace galvatron::deck
