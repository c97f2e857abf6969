// The few elements that the page is made of.

#include "report/html.hpp"

#include <algorithm>
#include <cstdint>

#include "core/format.hpp"

namespace galvatron::report {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// Length of the well-formed UTF-8 sequence that begins at `at`, or 0.
size_t sequence_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto lead = byte(at);
  const size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
  if (length == 0 || at + length > text.size()) return 0;
  uint32_t code = length == 1 ? lead : lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (byte(at + i) >> 6 != 2) return 0;
    code = code << 6 | (byte(at + i) & 0x3Fu);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < least[length] || code > 0x10FFFF || surrogate ? 0 : length;
}

std::string_view reference(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto length = sequence_at(text, at);
    const char c = text[at];
    const bool control = length == 1 && (static_cast<uint8_t>(c) < 0x20 || c == 0x7F);
    if (length == 0 || (control && c != '\n' && c != '\t'))
      out += replacement;
    else if (const auto name = reference(c); length == 1 && !name.empty())
      out += name;
    else
      out += text.substr(at, length);
    at += std::max<size_t>(1, length);
  }
  return out;
}

std::string paragraph(std::string_view text, std::string_view css_class) {
  if (css_class.empty()) return "<p>" + escaped(text) + "</p>\n";
  return core::format("<p class=\"{}\">{}</p>\n", css_class, escaped(text));
}

std::string html_table(const std::vector<std::vector<std::string>>& rows, const std::vector<size_t>& left,
                       std::string_view caption) {
  std::string out = "<table>\n";
  if (!caption.empty()) out += "<caption>" + escaped(caption) + "</caption>\n";
  for (size_t r = 0; r < rows.size(); ++r) {
    out += r == 0 ? "<thead><tr>" : "<tr>";
    for (size_t c = 0; c < rows[r].size(); ++c) {
      const bool text = c == 0 || std::find(left.begin(), left.end(), c) != left.end();
      out += core::format("<{0}{1}>{2}</{3}>", r == 0 ? "th scope=\"col\"" : "td", text ? " class=\"t\"" : "",
                          escaped(rows[r][c]), r == 0 ? "th" : "td");
    }
    out += r == 0 ? "</tr></thead>\n<tbody>\n" : "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string figure(const std::string& content, std::string_view caption) {
  return "<figure>\n" + content + "<figcaption>" + escaped(caption) + "</figcaption>\n</figure>\n";
}

}  // namespace galvatron::report
