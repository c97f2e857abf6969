// Ids in a mapped file as a dataset. What is read is checked: one comparison beside the copy that is made
// anyway costs nothing, and no id beyond the model's table ever reaches a kernel.
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/token_file.hpp"

namespace galvatron::store {
namespace {

/// Up to this size the fingerprint covers every byte, beyond it pieces from all over the file.
constexpr int64_t whole_hash_bytes = int64_t{16} << 20;
constexpr int64_t hash_pieces = 64;
constexpr int64_t hash_piece_bytes = int64_t{256} << 10;
constexpr int64_t chunk_tokens = int64_t{1} << 16;

/// Copies ids; false when one of them is not in [0, vocabulary).
template <typename T>
bool copy_ids(const std::byte* from, int64_t vocabulary, std::span<int32_t> out) {
  bool good = true;
  for (size_t i = 0; i < out.size(); ++i) {
    T id;
    std::memcpy(&id, from + i * sizeof(T), sizeof(T));
    // A negative id is a huge one without its sign.
    good &= static_cast<uint64_t>(static_cast<int64_t>(id)) < static_cast<uint64_t>(vocabulary);
    out[i] = static_cast<int32_t>(id);
  }
  return good;
}

template <typename T>
int64_t id_at(const std::byte* from) {
  T id;
  std::memcpy(&id, from, sizeof(T));
  return static_cast<int64_t>(id);
}

/// Calls `f` with a value of the C++ type that `type` stands for.
template <typename F>
auto with_type(TokenType type, F f) {
  switch (type) {
    case TokenType::u8:
      return f(uint8_t{});
    case TokenType::i8:
      return f(int8_t{});
    case TokenType::u16:
      return f(uint16_t{});
    case TokenType::i16:
      return f(int16_t{});
    case TokenType::u32:
      return f(uint32_t{});
    case TokenType::i32:
      return f(int32_t{});
    case TokenType::i64:
      return f(int64_t{});
  }
  throw core::InternalError("no such token type");
}

class TokenDataset final : public Dataset {
 public:
  TokenDataset(const TokenFile& file, int64_t vocabulary)
      : file_(file), vocabulary_(vocabulary), mapped_(file.path) {
    GALV_ASSERT(vocabulary > 0 && vocabulary <= int64_t{1} << 31, vocabulary);
    const auto bytes = static_cast<int64_t>(mapped_.bytes().size());
    if (file.tokens > (bytes - file.offset) / width())
      refuse_file(file.path, bytes, core::format("{} tokens of {} bytes", file.tokens, width()),
                  "the end of the file");
    fingerprint_ = core::format("{}-{}-{:016x}", name_of(file.type), file.tokens, hash());
  }

  int64_t tokens() const override { return file_.tokens; }
  int64_t vocabulary() const override { return vocabulary_; }

  void read(int64_t offset, std::span<int32_t> out) const override {
    const auto count = static_cast<int64_t>(out.size());
    GALV_ASSERT(offset >= 0 && offset <= tokens() - count, offset, count, tokens());
    const bool good = with_type(file_.type, [&](auto type) {
      return copy_ids<decltype(type)>(address_of(offset), vocabulary_, out);
    });
    if (!good) refuse(offset, count);
  }

  std::string fingerprint() const override { return fingerprint_; }

 private:
  int64_t width() const { return size_of(file_.type); }
  const std::byte* address_of(int64_t token) const {
    return mapped_.bytes().data() + file_.offset + token * width();
  }

  uint64_t hash() const {
    const auto bytes =
        mapped_.bytes().subspan(static_cast<size_t>(file_.offset), static_cast<size_t>(tokens() * width()));
    const auto size = static_cast<int64_t>(bytes.size());
    if (size <= whole_hash_bytes) return XXH3_64bits(bytes.data(), bytes.size());
    uint64_t out = 0;
    for (int64_t i = 0; i < hash_pieces; ++i) {
      const auto begin = (size - hash_piece_bytes) / (hash_pieces - 1) * i;
      out = XXH3_64bits_withSeed(bytes.data() + begin, static_cast<size_t>(hash_piece_bytes), out);
    }
    return out;
  }

  [[noreturn]] void refuse(int64_t begin, int64_t count) const {
    for (int64_t t = begin; t < begin + count; ++t) {
      const auto id = with_type(file_.type, [&](auto type) { return id_at<decltype(type)>(address_of(t)); });
      if (id >= 0 && id < vocabulary_) continue;
      refuse_file(file_.path, file_.offset + t * width(),
                  core::format("a token id below the vocabulary of {}", vocabulary_),
                  core::format("{} (token number {})", id, t));
    }
    throw core::InternalError("an id was out of the vocabulary and is not any more");
  }

  TokenFile file_;
  int64_t vocabulary_;
  MappedFile mapped_;
  std::string fingerprint_;
};

}  // namespace

std::unique_ptr<Dataset> open_token_file(const TokenFile& file, int64_t vocabulary) {
  return std::make_unique<TokenDataset>(file, vocabulary);
}

void look_at_tokens(const Dataset& data, CheckShare share, int64_t most, const std::function<void()>& alive) {
  const auto begin = share.begin(data.tokens()), count = share.end(data.tokens()) - begin;
  std::vector<int32_t> chunk;
  const auto chunks = (count + chunk_tokens - 1) / chunk_tokens;
  const auto looked_at = std::min(chunks, std::max<int64_t>(1, most / chunk_tokens));
  for (int64_t i = 0; i < looked_at; ++i) {
    const auto at = chunks / looked_at * i * chunk_tokens;
    chunk.resize(static_cast<size_t>(std::min(chunk_tokens, count - at)));
    alive();
    data.read(begin + at, chunk);
  }
}

}  // namespace galvatron::store
