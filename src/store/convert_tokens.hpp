#pragma once
// From one format of token files to another, in one pass over the ids, however large the files are.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "store/token_file.hpp"

namespace galvatron::store {

struct ConvertOptions {
  std::vector<std::filesystem::path> inputs;  ///< in the order in which their ids follow each other
  std::filesystem::path out;                  ///< of Megatron: the .bin, with or without its ending
  TokenFormat to = TokenFormat::tokens;       ///< not text
  enum class Existing { refuse, replace } existing = Existing::refuse;
};

struct ConvertReport {
  int64_t tokens = 0;
  int64_t documents = 0;   ///< of the inputs; a file that is not Megatron's is one
  int64_t vocabulary = 0;  ///< as the inputs say, else the largest id + 1
  TokenType type = TokenType::u16;
  std::vector<std::filesystem::path> files;  ///< written
};

/// Local. Formats of inputs are detected; text becomes bytes and ends with a newline, as in training. Output
/// is written beside its name (.tmp), synced and renamed, so a name is either absent or whole. Throws
/// UserError: data for inputs that are damaged or too long for the format, usage for an output that exists;
/// DiskError.
ConvertReport convert_tokens(const ConvertOptions& options);

}  // namespace galvatron::store
