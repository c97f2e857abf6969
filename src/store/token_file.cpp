// Choosing a parser, llm.c's header, and text as the plainest of formats.
#include "store/token_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::store {
namespace {

constexpr int64_t llmc_header_bytes = 256 * 4;

/// The two kinds of llm.c files (dev/data/data_common.py): GPT-2's ids and LLaMA 3's.
struct LlmcKind {
  int32_t magic;
  int32_t version;
  TokenType type;
};
constexpr std::array llmc_kinds{LlmcKind{20240520, 1, TokenType::u16}, LlmcKind{20240801, 7, TokenType::u32}};

TokenFile text_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  if (file.bytes().empty()) refuse_file(path, 0, "text", "an empty file");
  return {path, TokenType::u8, 0, static_cast<int64_t>(file.bytes().size()), 256};
}

bool begins_with(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

}  // namespace

TokenFormat parse_token_format(const std::string& text) {
  for (const auto format : {TokenFormat::text, TokenFormat::megatron, TokenFormat::llmc, TokenFormat::tokens})
    if (name_of(format) == text) return format;
  throw core::UserError(
      core::format("'{}' is no format of tokens; the formats are text, megatron, llmc, tokens", text));
}

std::string_view name_of(TokenFormat format) {
  constexpr std::array<std::string_view, 4> names{"text", "megatron", "llmc", "tokens"};
  return names[static_cast<size_t>(format)];
}

int64_t size_of(TokenType type) {
  constexpr std::array<int64_t, 7> sizes{1, 1, 2, 2, 4, 4, 8};
  return sizes[static_cast<size_t>(type)];
}

std::string_view name_of(TokenType type) {
  constexpr std::array<std::string_view, 7> names{"u8", "i8", "u16", "i16", "u32", "i32", "i64"};
  return names[static_cast<size_t>(type)];
}

void refuse_file(const std::filesystem::path& path, int64_t offset, const std::string& expected,
                 const std::string& found) {
  throw core::UserError(core::ExitCode::data, core::format("{}: byte {}: expected {}, found {}",
                                                           path.string(), offset, expected, found));
}

template <typename T>
T number_at(std::span<const std::byte> bytes, int64_t offset) {
  GALV_ASSERT(offset >= 0 && offset + static_cast<int64_t>(sizeof(T)) <= static_cast<int64_t>(bytes.size()),
              offset);
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}
template uint8_t number_at(std::span<const std::byte>, int64_t);
template int32_t number_at(std::span<const std::byte>, int64_t);
template int64_t number_at(std::span<const std::byte>, int64_t);
template uint64_t number_at(std::span<const std::byte>, int64_t);

TokenFile detail::llmc_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  const auto size = static_cast<int64_t>(bytes.size());
  if (size < llmc_header_bytes)
    refuse_file(path, size, core::format("a header of {} bytes", llmc_header_bytes), "the end of the file");
  const auto magic = number_at<int32_t>(bytes, 0);
  const auto* kind =
      std::find_if(llmc_kinds.begin(), llmc_kinds.end(), [&](const LlmcKind& k) { return k.magic == magic; });
  if (kind == llmc_kinds.end())
    refuse_file(path, 0, "the magic of llm.c's tokens, 20240520 or 20240801", std::to_string(magic));
  if (const auto version = number_at<int32_t>(bytes, 4); version != kind->version)
    refuse_file(path, 4, core::format("version {}", kind->version), std::to_string(version));
  const int64_t tokens = number_at<int32_t>(bytes, 8);
  if (tokens < 1) refuse_file(path, 8, "a count of tokens", std::to_string(tokens));
  const auto expected = llmc_header_bytes + tokens * size_of(kind->type);
  if (size != expected)
    refuse_file(
        path, std::min(size, expected),
        core::format("{} tokens of {} bytes, a file of {} bytes", tokens, size_of(kind->type), expected),
        core::format("a file of {} bytes", size));
  return {path, kind->type, llmc_header_bytes, tokens, 0};
}

TokenFile read_token_file(TokenFormat format, const std::filesystem::path& path, CheckShare share) {
  switch (format) {
    case TokenFormat::text:
      return text_file(path);
    case TokenFormat::megatron:
      return detail::megatron_file(path, share);
    case TokenFormat::llmc:
      return detail::llmc_file(path);
    case TokenFormat::tokens:
      return detail::hdf5_file(path);
  }
  throw core::InternalError("no such token format");
}

TokenFormat detect_token_format(const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.extension() == ".bin" && std::filesystem::exists(megatron_index_of(path), ignored))
    return TokenFormat::megatron;
  const MappedFile file(path);
  if (begins_with(file.bytes(), "\x89HDF\r\n\x1a\n")) return TokenFormat::tokens;
  if (file.bytes().size() >= 4) {
    const auto magic = number_at<int32_t>(file.bytes(), 0);
    for (const auto& kind : llmc_kinds)
      if (kind.magic == magic) return TokenFormat::llmc;
  }
  if (path.extension() == ".bin")
    refuse_file(path, 0,
                core::format("the magic of llm.c's tokens, or an index {} beside the file",
                             megatron_index_of(path).filename().string()),
                "neither");
  return TokenFormat::text;
}

}  // namespace galvatron::store
