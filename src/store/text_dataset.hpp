#pragma once
// Plain text files as bytes: the dataset that needs no preparation. One token is one byte, the vocabulary is
// 256.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/world.hpp"
#include "store/dataset.hpp"

namespace galvatron::store {

struct TextOptions {
  std::vector<std::string> train;  ///< globs; relative ones start at the working directory
  std::vector<std::string> valid;  ///< globs; empty = take `split` of the training text
  double split = 0.05;             ///< share of the training text, in [0, 1)
  std::function<void(std::string_view)> alive = [](std::string_view) {};  ///< hears which file is read
  int64_t index_from = int64_t{64} << 20;   ///< texts of so many bytes are packed into an index
  std::filesystem::path index_folder = {};  ///< that all nodes share, for where the text's own takes none
};

struct TextDatasets {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> valid;  ///< null when neither `valid` nor `split` gives any
  int64_t files = 0;
  std::vector<std::string> warnings;  ///< globs that matched nothing, files left out
  std::string index;                  ///< where the index is and whether it was made now; empty without one
};

/// Collective: rank 0 reads the files and broadcasts the bytes, so they need to be visible to rank 0 only. A
/// large text is packed once (text_index.hpp) and mapped by every rank: one index for all nodes where they
/// share its folder, else one per node, by its first rank; `alive` is called on every rank meanwhile, and
/// what it throws on any of them ends it on all. Files follow each other in the byte order of their paths,
/// each ended by a newline. Validation text is taken from all over the training text: of every 256 KiB of a
/// file (of the whole file where it is shorter) the last `split` share, moved to the next line break. Throws
/// AgreedError (data, exit code 5) when nothing is left to train on.
TextDatasets load_text(comm::World& world, const TextOptions& options);

/// The bytes of a text already in memory, with their XXH3; `owner` keeps them there.
std::unique_ptr<Dataset> make_text_dataset(std::shared_ptr<const void> owner,
                                           std::span<const std::byte> bytes, uint64_t hash);
std::unique_ptr<Dataset> make_text_dataset(std::string bytes);

/// Regular files that match the glob, sorted by the bytes of their paths. `*`, `?` and `[a-z]` stay within
/// one name, `**` stands for any number of folders; names that begin with a dot match only a pattern that
/// does. Links to folders are not followed by `**`. Throws UserError (data) when a folder cannot be read.
std::vector<std::filesystem::path> match_files(const std::string& glob);

}  // namespace galvatron::store
