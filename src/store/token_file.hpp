#pragma once
// Files of token ids: where in a file the ids lie, of which type they are, and a dataset that reads them
// there. The formats are described byte by byte in docs/files.md. A header is believed only as far as it
// agrees with the size of its file.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/dataset.hpp"
#include "store/mapped_file.hpp"

namespace galvatron::store {

enum class TokenFormat { text, megatron, llmc, tokens };

/// From the deck's words "text", "megatron", "llmc" and "tokens". Throws UserError (usage).
TokenFormat parse_token_format(const std::string& text);
std::string_view name_of(TokenFormat format);

/// How one id is stored; little-endian.
enum class TokenType { u8, i8, u16, i16, u32, i32, i64 };
int64_t size_of(TokenType type);
std::string_view name_of(TokenType type);

/// The ids of one file, one after the other.
struct TokenFile {
  std::filesystem::path path;  ///< the file that holds them
  TokenType type = TokenType::u8;
  int64_t offset = 0;      ///< of the first id, bytes
  int64_t tokens = 0;      ///< at least 1
  int64_t vocabulary = 0;  ///< every id is below it; 0: the file does not say
};

/// One part of a check that several ranks divide among themselves.
struct CheckShare {
  int64_t part = 0;
  int64_t parts = 1;
  /// [begin, end) of `count` things.
  int64_t begin(int64_t count) const { return begin_of(part, count); }
  int64_t end(int64_t count) const { return begin_of(part + 1, count); }

 private:
  int64_t begin_of(int64_t p, int64_t count) const { return count / parts * p + count % parts * p / parts; }
};

/// Local. Reads the header and checks it against the size of the file; `share` of a Megatron index is gone
/// through entry by entry. `path` is the data file (of Megatron: with or without its .bin). Throws UserError
/// (data) naming file, byte, what was expected there and what was found.
TokenFile read_token_file(TokenFormat format, const std::filesystem::path& path, CheckShare share = {});

/// What the file seems to be: by its first bytes, and by an index beside a .bin.
TokenFormat detect_token_format(const std::filesystem::path& path);

/// The name of Megatron's index of a data file.
std::filesystem::path megatron_index_of(const std::filesystem::path& data);

/// Walks over the documents of a Megatron index in order.
class MegatronDocuments {
 public:
  /// `data` names the .bin. The index must have been checked with read_token_file.
  explicit MegatronDocuments(const std::filesystem::path& data);
  int64_t count() const { return documents_; }
  /// Tokens of document number `document`.
  int64_t tokens_of(int64_t document) const;

 private:
  MappedFile index_;
  int64_t sequences_ = 0;
  int64_t documents_ = 0;
};

/// The ids as a dataset, mapped into memory. An id that is not in [0, vocabulary) is a UserError (data) with
/// file and byte when it is read.
std::unique_ptr<Dataset> open_token_file(const TokenFile& file, int64_t vocabulary);

/// Reads `share` of the dataset for the sake of its errors: all of it when that is at most `most` tokens,
/// else pieces from all over the share that add up to `most`. `alive` is called before each stretch.
void look_at_tokens(
    const Dataset& data, CheckShare share, int64_t most, const std::function<void()>& alive = [] {});

/// Throws UserError (data): "file: byte 34: expected …, found …".
[[noreturn]] void refuse_file(const std::filesystem::path& path, int64_t offset, const std::string& expected,
                              const std::string& found);

/// A little-endian number inside a mapped file; the caller has checked that it is there.
template <typename T>
T number_at(std::span<const std::byte> bytes, int64_t offset);

namespace detail {
// One parser per format, used by read_token_file.
TokenFile megatron_file(const std::filesystem::path& path, CheckShare share);
TokenFile llmc_file(const std::filesystem::path& path);
TokenFile hdf5_file(const std::filesystem::path& path);
}  // namespace detail

}  // namespace galvatron::store
