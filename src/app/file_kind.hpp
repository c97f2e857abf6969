#pragma once
// What a file is, by its content rather than its name.

#include <string>

namespace galvatron::app {

enum class FileKind { deck, plan, cluster, profile, checkpoint, run };

/// Throws core::UserError when the file cannot be read or is nothing that this program knows.
FileKind kind_of_file(const std::string& file);

}  // namespace galvatron::app
