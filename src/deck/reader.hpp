#pragma once
// Collects everything that is wrong with a deck while its sections are read, so that a user sees all of it at
// once.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deck/field.hpp"
#include "deck/raw.hpp"

namespace galvatron::deck {

/// A key by its full name, for checks that span several.
struct Key {
  std::string_view section;
  std::string_view key;
};

class Reader {
 public:
  Reader(Source source, std::string filename);

  /// The value that was given for the field; nothing where the deck is silent or wrong about it.
  std::optional<Value> take(const SectionInfo& section, const FieldInfo& field);

  bool given(const Key& key) const;

  /// Records `text` as a contradiction between `keys` unless `holds` or one of them is wrong already. The
  /// message stands at the first of them that was given.
  void require(bool holds, const std::vector<Key>& keys, const std::string& text);

  /// Records all entries that none of the sections knows, with suggestions.
  void report_unknown(const std::vector<SectionInfo>& sections);

  /// Throws core::UserError with all problems, in the order of the file and then of the command line.
  void finish();

 private:
  const Entry* find(const Key& key) const;
  std::string unknown_text(const Entry& entry, const std::vector<SectionInfo>& sections) const;

  Source source_;
  std::string filename_;
  std::vector<std::string> wrong_;  ///< "section.key" of values that could not be taken
};

}  // namespace galvatron::deck
