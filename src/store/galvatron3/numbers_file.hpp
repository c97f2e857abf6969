#pragma once
// The profile files of the Python Galvatron 3.0: JSON objects, nested or not, whose leaves are numbers.

#include <filesystem>
#include <string>
#include <string_view>

#include "cost/galvatron3/tables.hpp"

namespace galvatron::store::galvatron3 {

/// `file` names the text in errors. Throws core::UserError, naming file and place or key and value, when it
/// is no JSON, no object, or has another leaf than a finite number.
cost::galvatron3::Numbers parse_numbers(std::string_view text, const std::string& file);

cost::galvatron3::Numbers read_numbers(const std::filesystem::path& file);

}  // namespace galvatron::store::galvatron3
