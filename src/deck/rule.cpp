// The small language in which the tables of sections state their rules, and its words for the manual.
#include <cmath>

#include "core/format.hpp"
#include "deck/field.hpp"

namespace galvatron::deck {
namespace {

using core::format;

/// A copy of `rule` with one thing changed.
template <typename Change>
Rule with(Rule rule, Change change) {
  change(rule);
  return rule;
}

std::string range_text(const Rule& rule) {
  std::vector<std::string> parts;
  if (std::isfinite(rule.low)) parts.push_back(format("{} {}", rule.low_open ? ">" : "≥", rule.low));
  if (std::isfinite(rule.high)) parts.push_back(format("{} {}", rule.high_open ? "<" : "≤", rule.high));
  return core::join(parts, ", ");
}

std::string items_text(const Rule& rule) {
  if (rule.fewest_items == rule.most_items) return format("{} items", rule.fewest_items);
  if (rule.fewest_items > 0)
    return format("at least {} item{}", rule.fewest_items, rule.fewest_items > 1 ? "s" : "");
  return "";
}

}  // namespace

Rule Rule::at_least(double bound) const {
  return with(*this, [&](Rule& r) { r.low = bound; });
}

Rule Rule::above(double bound) const {
  return with(*this, [&](Rule& r) {
    r.low = bound;
    r.low_open = true;
  });
}

Rule Rule::at_most(double bound) const {
  return with(*this, [&](Rule& r) { r.high = bound; });
}

Rule Rule::below(double bound) const {
  return with(*this, [&](Rule& r) {
    r.high = bound;
    r.high_open = true;
  });
}

Rule Rule::one_of(std::vector<std::string> values) const {
  return with(*this, [&](Rule& r) { r.choices = std::move(values); });
}

Rule Rule::refuse(std::string value, std::string reason) const {
  return with(*this, [&](Rule& r) { r.refused.emplace_back(std::move(value), std::move(reason)); });
}

Rule Rule::or_word(std::string name) const {
  return with(*this, [&](Rule& r) { r.word = std::move(name); });
}

Rule Rule::items(int64_t fewest, int64_t most) const {
  return with(*this, [&](Rule& r) {
    r.fewest_items = fewest;
    r.most_items = most;
  });
}

Rule Rule::written_as(Form f) const {
  return with(*this, [&](Rule& r) { r.form = f; });
}

std::string Rule::to_string() const {
  std::vector<std::string> parts;
  if (form == Form::size) parts.emplace_back("a size like \"1.5 GiB\"");
  if (form == Form::duration) parts.emplace_back("a time like \"12:30:00\" or \"30 min\"");
  if (!choices.empty()) parts.push_back("one of " + core::join(choices, ", "));
  if (const std::string range = range_text(*this); !range.empty()) parts.push_back(range);
  if (const std::string items = items_text(*this); !items.empty()) parts.push_back(items);
  if (!word.empty()) parts.push_back(format("or \"{}\"", word));
  return core::join(parts, "; ");
}

}  // namespace galvatron::deck
