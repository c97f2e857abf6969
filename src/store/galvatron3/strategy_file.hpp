#pragma once
// The strategy file of the Python Galvatron 3.0 as JSON: written by a search, read by a training.

#include <filesystem>
#include <string>
#include <string_view>

#include "plan/galvatron3/strategy_file.hpp"

namespace galvatron::store::galvatron3 {

/// Throws core::UserError, naming file, key and value, for whatever is wrong with the text by itself.
plan::galvatron3::StrategyFile parse_strategy_file(std::string_view text, const std::string& file);

plan::galvatron3::StrategyFile read_strategy_file(const std::filesystem::path& file);

/// Every key that either side reads or writes; the same plan gives the same bytes.
std::string to_json(const plan::galvatron3::StrategyFile& strategies);

}  // namespace galvatron::store::galvatron3
