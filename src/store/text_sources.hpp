#pragma once
// Which files a text consists of and how they are divided into training and validation: the same whether they
// are read into memory or packed into an index.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/text_dataset.hpp"

namespace galvatron::store {

/// Of each such stretch of a file the last share goes to validation.
inline constexpr int64_t split_bytes = int64_t{256} << 10;

/// A file as it was found.
struct TextFile {
  std::string path;
  int64_t bytes = 0;
  int64_t changed_ns = 0;  ///< when it was last written to
  double share = 0;        ///< of it that goes to validation, in [0, 1]
};

struct TextSources {
  std::vector<TextFile> files;  ///< training files in the byte order of their paths, then validation files
  std::vector<std::string> warnings;  ///< globs that matched nothing, files left out

  int64_t bytes() const;
};

/// Local. Throws UserError (data) where there is nothing to train on.
TextSources find_text(const TextOptions& options);

/// Same for the same files in the same state, divided in the same way.
uint64_t fingerprint_of(const TextSources& sources);
/// Same for the same paths, divided in the same way, whatever the files hold.
uint64_t name_of(const TextSources& sources);

/// Where validation begins in a stretch of text: the share, moved to the next line break where there is one.
size_t validation_of(std::string_view stretch, double share);

/// Hears of a file that cannot be read. Throws UserError (data) for DiskError in `body`.
void read_as_data(const std::function<void()>& body);

}  // namespace galvatron::store
