// From a value as written to a value of the right type within its rule, or to the sentence that says why not.
#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "deck/field.hpp"
#include "deck/suggest.hpp"

namespace galvatron::deck {
namespace {

using core::format;

/// What went wrong with one key, thrown inside this file only.
struct Mismatch {
  std::string text;
};

struct Context {
  const FieldInfo& field;
  const Entry& entry;
};

[[noreturn]] void wrong_type(const Context& at, const char* wanted, const Raw& got) {
  throw Mismatch{format("{} must be {}, not {}", at.field.key, wanted, got.describe())};
}

void check_range(const Context& at, double value, const std::string& shown) {
  const Rule& rule = at.field.rule;
  const std::string what = format("{} = {} ", at.field.key, shown);
  if (!std::isfinite(value)) throw Mismatch{what + "must be a finite number"};
  if (value < rule.low || (rule.low_open && value == rule.low)) {
    throw Mismatch{what + format("must be {} {}", rule.low_open ? "above" : "at least", rule.low)};
  }
  if (value > rule.high || (rule.high_open && value == rule.high)) {
    throw Mismatch{what + format("must be {} {}", rule.high_open ? "below" : "at most", rule.high)};
  }
}

/// `word` is the value in plain letters, `shown` the same as it stands in a deck.
void check_choice(const Context& at, const std::string& word, const std::string& shown) {
  const Rule& rule = at.field.rule;
  for (const auto& [value, reason] : rule.refused) {
    if (word == value) throw Mismatch{format("{} = {}: {}", at.field.key, shown, reason)};
  }
  if (rule.choices.empty() ||
      std::find(rule.choices.begin(), rule.choices.end(), word) != rule.choices.end()) {
    return;
  }
  std::string text = format("{} = {} must be one of {}", at.field.key, shown, core::join(rule.choices, ", "));
  if (const std::string near = nearest(word, rule.choices); !near.empty() && rule.choices.size() > 1) {
    text += format(" (did you mean '{}'?)", near);
  }
  throw Mismatch{text};
}

void read_item(const Context& at, const Raw& raw, bool& out) {
  if (raw.kind != Raw::Kind::boolean) wrong_type(at, "true or false", raw);
  out = raw.boolean;
  check_choice(at, out ? "true" : "false", out ? "true" : "false");
}

void read_item(const Context& at, const Raw& raw, int64_t& out) {
  if (raw.kind == Raw::Kind::integer) {
    out = raw.integer;
  } else if (at.field.rule.form == Form::size && raw.kind == Raw::Kind::text) {
    try {
      out = core::parse_bytes(raw.text);
    } catch (const core::UserError& error) {
      throw Mismatch{format("{}: {}", at.field.key, error.what())};
    }
  } else {
    wrong_type(at, at.field.rule.form == Form::size ? "a size like \"1.5 GiB\"" : "an integer", raw);
  }
  check_range(at, static_cast<double>(out), std::to_string(out));
}

void read_item(const Context& at, const Raw& raw, double& out) {
  if (raw.kind == Raw::Kind::integer) {
    out = static_cast<double>(raw.integer);
  } else if (raw.kind == Raw::Kind::real) {
    out = raw.real;
  } else if (at.field.rule.form == Form::duration && raw.kind == Raw::Kind::text) {
    try {
      out = raw.text.empty() ? 0.0 : core::parse_seconds(raw.text);
    } catch (const core::UserError& error) {
      throw Mismatch{format("{}: {}", at.field.key, error.what())};
    }
  } else {
    wrong_type(at, at.field.rule.form == Form::duration ? "a time like \"12:30:00\"" : "a number", raw);
  }
  check_range(at, out, format("{}", out));
}

void read_item(const Context& at, const Raw& raw, std::string& out) {
  if (raw.kind == Raw::Kind::text) {
    out = raw.text;
  } else if (!at.entry.written.empty() && raw.kind != Raw::Kind::list) {
    out = at.entry.written;  // on the command line nobody quotes: run.out=2024 is a name
  } else {
    wrong_type(at, "a string", raw);
  }
  check_choice(at, out, quoted(out));
}

template <typename T>
void read_item(const Context& at, const Raw& raw, std::vector<T>& out) {
  if (!at.field.rule.word.empty() && raw.kind == Raw::Kind::text) {
    if (raw.text == at.field.rule.word) return;
    throw Mismatch{
        format("{} = {} must be numbers or {}", at.field.key, quoted(raw.text), quoted(at.field.rule.word))};
  }
  if (raw.kind == Raw::Kind::list) {
    for (const Raw& item : raw.items) {
      T value{};
      read_item(at, item, value);
      out.push_back(std::move(value));
    }
  } else {
    T value{};
    read_item(at, raw, value);  // one value stands for a list of one
    out.push_back(std::move(value));
  }
  const auto count = static_cast<int64_t>(out.size());
  const Rule& rule = at.field.rule;
  if (count >= rule.fewest_items && count <= rule.most_items) return;
  const bool exact = rule.fewest_items == rule.most_items;
  const std::string wanted = exact                       ? format("exactly {}", rule.fewest_items)
                             : count < rule.fewest_items ? format("at least {}", rule.fewest_items)
                                                         : format("at most {}", rule.most_items);
  throw Mismatch{format("{} must have {} in its list, not {}", at.field.key, wanted, count)};
}

}  // namespace

std::variant<Value, std::string> convert(const FieldInfo& field, const Entry& entry) {
  const Context at{field, entry};
  try {
    return std::visit(
        [&](const auto& standard) -> std::variant<Value, std::string> {
          std::decay_t<decltype(standard)> value{};
          read_item(at, entry.value, value);
          return Value(std::move(value));
        },
        field.standard);
  } catch (const Mismatch& mismatch) {
    return mismatch.text;
  }
}

}  // namespace galvatron::deck
