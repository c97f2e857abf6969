#pragma once
// Text into HTML. Nothing reaches the page but through `escaped`: host names and decks are strangers' texts.

#include <string>
#include <string_view>
#include <vector>

namespace galvatron::report {

/// The text as HTML or SVG content, or as an attribute in double quotes: & < > " ' become references, bytes
/// that HTML has no place for and what is not UTF-8 become U+FFFD.
std::string escaped(std::string_view text);

/// A <p> of escaped text.
std::string paragraph(std::string_view text, std::string_view css_class = "");

/// A table whose first row is its head. Cells are escaped; columns in `left` and the first are aligned left,
/// the others right.
std::string html_table(const std::vector<std::vector<std::string>>& rows, const std::vector<size_t>& left,
                       std::string_view caption = "");

/// A picture or table with a line below it.
std::string figure(const std::string& content, std::string_view caption);

}  // namespace galvatron::report
