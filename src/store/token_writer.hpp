#pragma once
// Writers of token files, fed document by document. A file appears under its name when it is whole.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "store/file.hpp"
#include "store/token_file.hpp"

namespace galvatron::store {

/// A new file that is written beside its name and renamed at the end; thrown away without commit().
class PendingFile {
 public:
  explicit PendingFile(std::filesystem::path path);
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  const File& file() const { return *file_; }
  const std::filesystem::path& path() const { return path_; }
  /// Synced and closed, under its name.
  void commit();

 private:
  std::filesystem::path path_, temporary_;
  std::optional<File> file_;
};

/// Numbers of one type, collected into large writes.
class NumberStream {
 public:
  NumberStream(const File& file, int64_t offset, TokenType type)
      : file_(file), offset_(offset), type_(type) {}
  void append(std::span<const int32_t> ids);
  void append(int64_t number);
  void flush();

 private:
  const File& file_;
  int64_t offset_;
  TokenType type_;
  std::vector<std::byte> buffer_;
};

class TokenWriter {
 public:
  virtual ~TokenWriter() = default;
  /// More ids of the document at hand.
  virtual void append(std::span<const int32_t> ids) = 0;
  virtual void end_document() {}
  /// Checks that as many ids came as were announced; returns the files, which are there now.
  virtual std::vector<std::filesystem::path> finish() = 0;
};

/// What a writer must know beforehand.
struct TokenOutput {
  std::filesystem::path path;
  int64_t tokens = 0;
  int64_t vocabulary = 0;
};

/// The narrowest type that a format has for these ids. Throws UserError (data) where it has none.
TokenType type_for(TokenFormat format, int64_t vocabulary);
/// Names of the files that a writer of this format makes.
std::vector<std::filesystem::path> files_of_writer(TokenFormat format, const std::filesystem::path& path);
std::unique_ptr<TokenWriter> make_token_writer(TokenFormat format, const TokenOutput& output);

namespace detail {
/// Gives `file` the layout of an HDF5 file of tokens; returns where the ids belong.
int64_t lay_out_hdf5_tokens(const File& file, TokenType type, const TokenOutput& output);
}  // namespace detail

}  // namespace galvatron::store
