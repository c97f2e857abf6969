// Parsing with every mistake turned into one sentence that says where it is.
#include "store/galvatron3/json.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::store::galvatron3 {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uintmax_t largest_bytes = std::uintmax_t{64} << 20;
constexpr int deepest = 16;  ///< no file of these kinds nests deeper; parsed values are freed recursively

/// Line and column of a byte.
std::string place_of(std::string_view text, size_t byte) {
  byte = std::min(byte > 0 ? byte - 1 : 0, text.size());
  const auto before = text.substr(0, byte);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto start = before.rfind('\n');
  return core::format("{}, column {}", line, byte - (start == std::string_view::npos ? 0 : start + 1) + 1);
}

/// Text that a terminal can show.
std::string shown(std::string text) {
  constexpr size_t longest = 60;
  if (text.size() > longest) text = text.substr(0, longest) + "…";
  return text;
}

}  // namespace

Json parse_object(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> keys;
  std::string fault;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > deepest) throw core::UserError(core::format("{}: nests deeper than {}", file, deepest));
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw core::UserError(
          core::format("{}: key '{}' is there twice", file, shown(parsed.get<std::string>())));
    return true;
  };
  Json json;
  try {
    json = Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::parse_error& error) {
    throw core::UserError(core::format("{}: is no JSON: line {}", file, place_of(text, error.byte)));
  } catch (const Json::exception& error) {  // a number beyond any type
    throw core::UserError(core::format("{}: is no JSON that can be read: {}", file, shown(error.what())));
  }
  if (!json.is_object()) throw core::UserError(core::format("{}: is no JSON object", file));
  return json;
}

std::string read_json_text(const std::filesystem::path& file) {
  std::error_code code;
  if (!std::filesystem::is_regular_file(file, code))
    throw core::UserError(core::format("{}: is no file", file.string()));
  if (std::filesystem::file_size(file, code) > largest_bytes)
    throw core::UserError(core::format("{}: is too large for a file of Galvatron", file.string()));
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) throw core::UserError(core::format("{}: cannot be read", file.string()));
  return text;
}

void refuse_value(const std::string& file, const std::string& key, const Json& value,
                  const std::string& why) {
  const auto text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  throw core::UserError(core::format("{}: key '{}': {} {}", file, shown(key), shown(text), why));
}

}  // namespace galvatron::store::galvatron3
