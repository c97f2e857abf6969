#pragma once
// Tables of plain text, for every report that a person reads.

#include <cstddef>
#include <string>
#include <vector>

namespace galvatron::core {

using Row = std::vector<std::string>;

/// One line per row, indented by two; rows may be short. Columns are as wide as their widest cell and aligned
/// to the right, except the first one and those listed in `left`.
std::string table(const std::vector<Row>& rows, const std::vector<size_t>& left = {});

}  // namespace galvatron::core
