// The texts and the order of a deck's problems.
#include "deck/reader.hpp"

#include <algorithm>
#include <limits>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "deck/suggest.hpp"

namespace galvatron::deck {
namespace {

using core::format;

std::string full_name(std::string_view section, std::string_view key) {
  return format("{}.{}", section, key);
}

std::vector<std::string> keys_of(const SectionInfo& section) {
  std::vector<std::string> keys;
  for (const FieldInfo& field : section.fields) keys.push_back(field.key);
  return keys;
}

std::vector<std::string> names_of(const std::vector<SectionInfo>& sections) {
  std::vector<std::string> names;
  for (const SectionInfo& section : sections) names.push_back(section.name);
  return names;
}

/// "[train] or [profile]": the sections that have this very key.
std::string homes_of(std::string_view key, const std::vector<SectionInfo>& sections) {
  std::vector<std::string> homes;
  for (const SectionInfo& section : sections) {
    for (const FieldInfo& field : section.fields) {
      if (field.key == key) homes.push_back("[" + section.name + "]");
    }
  }
  return core::join(homes, " or ");
}

std::string unknown_section(const std::string& name, const std::vector<SectionInfo>& sections) {
  const std::string near = nearest(name, names_of(sections));
  std::string text = format("unknown section [{}]", name);
  if (!near.empty()) text += format(" (did you mean [{}]?)", near);
  return text;
}

}  // namespace

Reader::Reader(Source source, std::string filename)
    : source_(std::move(source)), filename_(std::move(filename)) {}

const Entry* Reader::find(const Key& key) const {
  for (const Entry& entry : source_.entries) {
    if (entry.section == key.section && entry.key == key.key) return &entry;
  }
  return nullptr;
}

bool Reader::given(const Key& key) const {
  return find(key) != nullptr;
}

std::optional<Value> Reader::take(const SectionInfo& section, const FieldInfo& field) {
  const Entry* entry = find({section.name, field.key});
  if (entry == nullptr) return std::nullopt;
  auto result = convert(field, *entry);
  if (auto* value = std::get_if<Value>(&result)) return std::move(*value);
  source_.problems.push_back({entry->place, format("[{}] {}", section.name, std::get<std::string>(result))});
  wrong_.push_back(full_name(section.name, field.key));
  return std::nullopt;
}

void Reader::require(bool holds, const std::vector<Key>& keys, const std::string& text) {
  if (holds) return;
  const Entry* first = nullptr;
  for (const Key& key : keys) {
    if (std::find(wrong_.begin(), wrong_.end(), full_name(key.section, key.key)) != wrong_.end()) return;
    if (first == nullptr) first = find(key);
  }
  const Place place = first ? first->place : Place{1};
  const std::string_view section = first ? std::string_view(first->section) : keys.front().section;
  source_.problems.push_back({place, format("[{}] {}", section, text)});
}

std::string Reader::unknown_text(const Entry& entry, const std::vector<SectionInfo>& sections) const {
  const std::string homes = homes_of(entry.key, sections);
  const std::string what = format("unknown key '{}'", entry.key);
  if (entry.section.empty()) {
    if (entry.value.kind == Raw::Kind::list) return what + " outside any section";
    if (!homes.empty())
      return format("key '{}' stands outside any section (it belongs in {})", entry.key, homes);
    return what + " outside any section";
  }
  const std::string where = format("[{}] {}", entry.section, what);
  if (!homes.empty()) return where + format(" (it belongs in {})", homes);
  const auto own = std::find_if(sections.begin(), sections.end(),
                                [&](const SectionInfo& s) { return s.name == entry.section; });
  if (const std::string near = nearest(entry.key, keys_of(*own)); !near.empty()) {
    return where + format(" (did you mean '{}'?)", near);
  }
  for (const SectionInfo& section : sections) {
    if (const std::string near = nearest(entry.key, keys_of(section)); !near.empty()) {
      return where + format(" (did you mean '{}' in [{}]?)", near, section.name);
    }
  }
  return where;
}

void Reader::report_unknown(const std::vector<SectionInfo>& sections) {
  const auto names = names_of(sections);
  const auto known = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<std::string> reported;
  for (const Entry& entry : source_.entries) {
    if (!entry.section.empty() && !known(entry.section)) {
      const bool in_file = entry.place.line != 0;
      if (in_file && std::find(reported.begin(), reported.end(), entry.section) != reported.end()) continue;
      if (in_file) reported.push_back(entry.section);
      source_.problems.push_back({entry.place, unknown_section(entry.section, sections)});
      continue;
    }
    bool found = false;
    for (const SectionInfo& section : sections) {
      const auto keys = keys_of(section);
      found |= section.name == entry.section && std::find(keys.begin(), keys.end(), entry.key) != keys.end();
    }
    if (!found) source_.problems.push_back({entry.place, unknown_text(entry, sections)});
  }
  for (size_t i = 0; i < source_.empty_sections.size(); ++i) {
    if (!known(source_.empty_sections[i])) {
      source_.problems.push_back(
          {source_.empty_places[i], unknown_section(source_.empty_sections[i], sections)});
    }
  }
}

void Reader::finish() {
  if (source_.problems.empty()) return;
  const auto order = [](const Problem& p) {
    return p.place.line == 0 ? std::numeric_limits<int64_t>::max() : p.place.line;
  };
  std::stable_sort(source_.problems.begin(), source_.problems.end(),
                   [&](const Problem& a, const Problem& b) { return order(a) < order(b); });
  std::vector<std::string> lines;
  for (const Problem& problem : source_.problems) {
    const std::string where =
        problem.place.line == 0 ? "command line" : format("{}:{}", filename_, problem.place.line);
    lines.push_back(where + ": " + problem.text);
  }
  throw core::UserError(core::join(lines, "\n"));
}

}  // namespace galvatron::deck
