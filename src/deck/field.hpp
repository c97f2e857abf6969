#pragma once
// One key of a deck: what it is called, what it may be, what it means. A section is a list of these, and from
// the same list a deck is read, checked, printed and documented.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "deck/raw.hpp"

namespace galvatron::deck {

/// A key's value once its type is settled.
using Value = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                           std::vector<std::string>>;

/// How a number is written in the deck.
enum class Form {
  plain,
  size,      ///< bytes, written "1.5 GiB"
  duration,  ///< seconds, written "12:30:00" or "30 min"; "" is 0
};

/// What a key may be. For lists the bounds and choices hold for each item.
struct Rule {
  Form form = Form::plain;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;   ///< strictly above `low`
  bool high_open = false;  ///< strictly below `high`
  std::vector<std::string> choices;
  std::vector<std::pair<std::string, std::string>> refused;  ///< value and the reason why it is not accepted
  std::string word;  ///< for lists: written instead of a list, it stands for the empty one
  int64_t fewest_items = 0;
  int64_t most_items = std::numeric_limits<int64_t>::max();

  Rule at_least(double bound) const;
  Rule above(double bound) const;
  Rule at_most(double bound) const;
  Rule below(double bound) const;
  Rule one_of(std::vector<std::string> values) const;
  /// `value` is understood but not accepted: `reason` goes into the message.
  Rule refuse(std::string value, std::string reason) const;
  Rule or_word(std::string word) const;
  Rule items(int64_t fewest, int64_t most = std::numeric_limits<int64_t>::max()) const;
  Rule written_as(Form f) const;

  /// The rule in words, for the manual; empty where anything goes.
  std::string to_string() const;
};

struct FieldInfo {
  std::string key;
  Value standard;  ///< the default
  Rule rule;
  std::string unit;  ///< empty where there is none
  std::string meaning;
};

struct SectionInfo {
  std::string name;
  std::string meaning;
  std::vector<FieldInfo> fields;
};

/// The entry's value as the field wants it, or the problem ("steps must be …") where it is not legal.
std::variant<Value, std::string> convert(const FieldInfo& field, const Entry& entry);

/// A value as it stands in a deck.
std::string to_toml(const Value& value, const Rule& rule);

/// "[name]" and one line per field; `values` in the order of the fields.
std::string print_section(const SectionInfo& section, const std::vector<Value>& values);

/// The section's chapter of the manual, in Markdown.
std::string document_section(const SectionInfo& section);

}  // namespace galvatron::deck
