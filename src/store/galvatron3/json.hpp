#pragma once
// What the readers of JSON share: one way to parse, one way to complain. Included by .cpp files only.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace galvatron::store::galvatron3 {

/// The object in a text, its keys in the text's order. Throws core::UserError as "FILE: …" when it is none,
/// or has a key twice.
nlohmann::ordered_json parse_object(std::string_view text, const std::string& file);

/// Throws core::UserError when it cannot be read or is larger than any file of this kind.
std::string read_json_text(const std::filesystem::path& file);

/// "FILE: key 'KEY': VALUE WHY", the value cut where it is long.
[[noreturn]] void refuse_value(const std::string& file, const std::string& key,
                               const nlohmann::ordered_json& value, const std::string& why);

}  // namespace galvatron::store::galvatron3
