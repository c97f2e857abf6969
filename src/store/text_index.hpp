#pragma once
// A large text packed into one file, divided into training and validation, that every rank of a node maps:
// read once per data set, however many ranks and runs train on it. docs/files.md describes it byte by byte.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "store/dataset.hpp"
#include "store/mapped_file.hpp"
#include "store/text_sources.hpp"

namespace galvatron::store {

/// The name of the index of these files in a folder; hidden, so that globs do not find it.
std::string index_name_of(const TextSources& sources);

/// Local. Packs a text a little at a time, so that signals are heard and others know that somebody works.
class TextIndexBuilder {
 public:
  /// Begins a file of a name that nobody guesses in `folder`, which is made where it is not there. Throws
  /// DiskError where that fails.
  TextIndexBuilder(const TextSources& sources, const std::filesystem::path& folder);
  TextIndexBuilder(const TextIndexBuilder&) = delete;
  TextIndexBuilder& operator=(const TextIndexBuilder&) = delete;
  /// Leaves nothing behind that was not published.
  ~TextIndexBuilder();

  /// Works for about so many seconds; true when the index stands in the folder under its name, whole and on
  /// the disk. Throws DiskError where it cannot be written, UserError (data) where a text cannot be read or
  /// has changed meanwhile.
  bool work(double seconds);
  /// What it is at, for people.
  std::string where() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// An index whose header is right. Its bytes are not looked at yet.
class TextIndex {
 public:
  /// Nothing where there is none in `folder`, or one of other files or of the same in another state. Throws
  /// UserError (data) saying what is wrong with a damaged one.
  static std::optional<TextIndex> open(const std::filesystem::path& folder, const TextSources& sources);
  /// Likewise, by the fingerprint alone, for a rank that does not see the text.
  static std::optional<TextIndex> open(const std::filesystem::path& file, uint64_t fingerprint);

  const std::filesystem::path& path() const { return map_->path(); }
  uint64_t fingerprint() const { return fingerprint_; }  ///< of the files that it was made of
  int64_t blocks() const { return blocks_; }
  /// Whether the bytes of a block are those that were written.
  bool block_is_whole(int64_t block) const;

  std::unique_ptr<Dataset> train() const;
  std::unique_ptr<Dataset> valid() const;  ///< null where there is none

 private:
  std::shared_ptr<const MappedFile> map_;  // shared: both datasets look into it, and may outlive this
  int64_t train_bytes_ = 0, valid_bytes_ = 0;
  uint64_t train_hash_ = 0, valid_hash_ = 0;
  uint64_t fingerprint_ = 0;
  int64_t blocks_ = 0;
};

}  // namespace galvatron::store
