// Values and sections as text: the effective deck, which parses back to the same values, and the manual.
#include <array>
#include <charconv>

#include "core/format.hpp"
#include "core/units.hpp"
#include "deck/field.hpp"

namespace galvatron::deck {
namespace {

using core::format;

/// The shortest text that reads back to the same number, always recognisable as a float.
std::string float_text(double value) {
  std::array<char, 40> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// Bytes in the largest unit that divides them, so that no bit is lost.
std::string size_text(int64_t bytes) {
  if (bytes != 0 && bytes % core::gib == 0) return format("{} GiB", bytes / core::gib);
  if (bytes != 0 && bytes % core::mib == 0) return format("{} MiB", bytes / core::mib);
  return std::to_string(bytes);
}

std::string one(bool value, Form) {
  return value ? "true" : "false";
}
std::string one(int64_t value, Form form) {
  return form == Form::size ? quoted(size_text(value)) : std::to_string(value);
}
std::string one(double value, Form form) {
  if (form != Form::duration) return float_text(value);
  return value == 0.0 ? "\"\"" : quoted(float_text(value) + " s");
}
std::string one(const std::string& value, Form) {
  return quoted(value);
}
template <typename T>
std::string one(const std::vector<T>& values, Form form) {
  std::vector<std::string> parts;
  for (const T& value : values) parts.push_back(one(value, form));
  return "[" + core::join(parts, ", ") + "]";
}

std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

}  // namespace

std::string to_toml(const Value& value, const Rule& rule) {
  const auto text = std::visit([&](const auto& v) { return one(v, rule.form); }, value);
  return text == "[]" && !rule.word.empty() ? quoted(rule.word) : text;
}

std::string print_section(const SectionInfo& section, const std::vector<Value>& values) {
  std::string out = format("[{}]\n", section.name);
  for (size_t i = 0; i < section.fields.size(); ++i) {
    const FieldInfo& field = section.fields[i];
    out += format("{} = {}\n", field.key, to_toml(values[i], field.rule));
  }
  return out;
}

std::string document_section(const SectionInfo& section) {
  std::string out = format("## [{}]\n\n{}\n\n", section.name, section.meaning);
  out += "| key | default | unit | rule | meaning |\n|---|---|---|---|---|\n";
  for (const FieldInfo& field : section.fields) {
    out += format("| `{}` | `{}` | {} | {} | {} |\n", field.key, cell(to_toml(field.standard, field.rule)),
                  cell(field.unit), cell(field.rule.to_string()), cell(field.meaning));
  }
  return out;
}

}  // namespace galvatron::deck
