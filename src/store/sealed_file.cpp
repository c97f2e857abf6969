// Header, block table and digest of sealed files: written once at the end, checked before anything is parsed.
#include "store/sealed_file.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <tuple>

#include "core/format.hpp"

namespace galvatron::store {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the header and the table are stored as they lie in memory");

// As in PNG: a byte with its high bit set and line ends, so that text-mode transfers show.
constexpr std::array<char, 8> magic = {'\x89', 'G', 'A', 'L', 'V', '\r', '\n', '\x1a'};
constexpr uint32_t format_version = 1;
constexpr int64_t digest_chunk = int64_t{1} << 20;
constexpr int64_t most_rows = int64_t{1} << 32;

struct Header {
  std::array<char, 8> magic{};
  uint32_t version = 0;
  uint32_t kind = 0;
  int64_t file_bytes = 0;
  int64_t table_address = 0;
  int64_t rows = 0;
  uint64_t table_hash = 0;
  uint64_t metadata_hash = 0;
  uint64_t header_hash = 0;  ///< of the bytes above
};
static_assert(sizeof(Header) == 64 && sizeof(BlockRow) == 56, "no padding: both are written as they are");

uint64_t header_hash_of(const Header& header) {
  return hash_of(bytes_of(header).first(offsetof(Header, header_hash)));
}

[[noreturn]] void refuse(const std::string& text) {
  throw core::UserError(core::ExitCode::checkpoint, text);
}

struct Extent {
  int64_t begin = 0;
  int64_t end = 0;
};

class Digest {
 public:
  Digest() : state_(XXH3_createState(), XXH3_freeState) { XXH3_64bits_reset(state_.get()); }

  void add(const File& file, Extent extent) {
    buffer_.resize(digest_chunk);
    for (int64_t at = extent.begin; at < extent.end; at += digest_chunk) {
      const auto part =
          std::span(buffer_).first(static_cast<size_t>(std::min(digest_chunk, extent.end - at)));
      file.read(at, part);
      XXH3_64bits_update(state_.get(), part.data(), part.size());
    }
  }
  uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
  std::vector<std::byte> buffer_;
};

/// Hash of everything that neither the header nor the table nor a row covers. Refuses rows that leave the
/// file or overlap.
uint64_t metadata_hash_of(const File& file, const Header& header, const std::vector<BlockRow>& rows) {
  std::vector<Extent> covered;
  covered.reserve(rows.size() + 1);
  if (header.rows > 0)
    covered.push_back(
        {header.table_address, header.table_address + header.rows * static_cast<int64_t>(sizeof(BlockRow))});
  for (const auto& row : rows) {
    if (row.address < user_block_bytes || row.bytes <= 0 || row.address > header.file_bytes - row.bytes)
      refuse(core::format("a block claims the {} bytes at {}", row.bytes, row.address));
    covered.push_back({row.address, row.address + row.bytes});
  }
  std::sort(covered.begin(), covered.end(), [](Extent a, Extent b) { return a.begin < b.begin; });
  Digest digest;
  int64_t at = sizeof(Header);
  for (const auto& extent : covered) {
    if (extent.begin < at) refuse(core::format("two blocks claim byte {}", extent.begin));
    digest.add(file, {at, extent.begin});
    at = extent.end;
  }
  digest.add(file, {at, header.file_bytes});
  return digest.value();
}

std::vector<BlockRow> read_table(const File& file, const Header& header) {
  std::vector<BlockRow> rows(static_cast<size_t>(header.rows));
  file.read(header.table_address, std::as_writable_bytes(std::span(rows)));
  return rows;
}

void check_header(const File& file, const Header& header, SealedKind kind) {
  if (header.magic != magic)
    refuse("not a file of this program, or one whose writing never finished (wrong magic)");
  if (header.header_hash != header_hash_of(header)) refuse("the header is damaged");
  if (header.version != format_version)
    refuse(core::format("format version {}; this program reads version {}", header.version, format_version));
  if (header.kind != static_cast<uint32_t>(kind))
    refuse(kind == SealedKind::checkpoint ? "not a checkpoint" : "not a profile");
  if (const auto size = file.size(); size != header.file_bytes)
    refuse(core::format("{} of {} bytes: the file was cut or grew", size, header.file_bytes));
  const auto room = (header.file_bytes - user_block_bytes) / static_cast<int64_t>(sizeof(BlockRow));
  if (header.rows < 0 || header.rows > std::min(room, most_rows))
    refuse(core::format("claims {} blocks", header.rows));
  const auto table_bytes = header.rows * static_cast<int64_t>(sizeof(BlockRow));
  if (header.rows > 0 &&
      (header.table_address < user_block_bytes || header.table_address > header.file_bytes - table_bytes))
    refuse(core::format("claims a block table at byte {}", header.table_address));
}

}  // namespace

uint64_t hash_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

void seal(const File& file, SealedKind kind, int64_t table_address, int64_t rows) {
  Header header;
  header.magic = magic;
  header.version = format_version;
  header.kind = static_cast<uint32_t>(kind);
  header.file_bytes = file.size();
  header.table_address = table_address;
  header.rows = rows;
  const auto table = read_table(file, header);
  header.table_hash = hash_of(std::as_bytes(std::span(table)));
  header.metadata_hash = metadata_hash_of(file, header, table);
  header.header_hash = header_hash_of(header);
  file.write(0, bytes_of(header));
}

std::optional<SealedKind> sealed_kind(const std::filesystem::path& path) {
  const File file(path, File::Mode::read);
  Header header;
  if (file.size() < user_block_bytes) return std::nullopt;
  file.read(0, writable_bytes_of(header));
  if (header.magic != magic) return std::nullopt;
  return header.kind == static_cast<uint32_t>(SealedKind::profile) ? SealedKind::profile
                                                                   : SealedKind::checkpoint;
}

SealedFile open_sealed(const std::filesystem::path& path, SealedKind kind) {
  std::unique_ptr<SealedFile> sealed;
  name_file(path, [&] {
    File file(path, File::Mode::read);
    Header header;
    if (file.size() < user_block_bytes) refuse(core::format("only {} bytes long", file.size()));
    file.read(0, writable_bytes_of(header));
    check_header(file, header, kind);
    auto rows = read_table(file, header);
    if (hash_of(std::as_bytes(std::span(rows))) != header.table_hash) refuse("the block table is damaged");
    if (metadata_hash_of(file, header, rows) != header.metadata_hash)
      refuse("the description of its contents is damaged");
    std::sort(rows.begin(), rows.end(), [](const BlockRow& a, const BlockRow& b) {
      return std::tie(a.tensor, a.offset) < std::tie(b.tensor, b.offset);
    });
    sealed = std::make_unique<SealedFile>(SealedFile{std::move(file), std::move(rows)});
  });
  return std::move(*sealed);
}

bool row_is_whole(const File& file, const BlockRow& row) {
  Digest digest;
  digest.add(file, {row.address, row.address + row.bytes});
  return digest.value() == row.hash;
}

bool row_is_whole(const File& file, const BlockRow& row, std::vector<std::byte>& scratch) {
  scratch.resize(static_cast<size_t>(row.bytes));
  file.read(row.address, scratch);
  return hash_of(scratch) == row.hash;
}

void name_file(const std::filesystem::path& path, const std::function<void()>& body) {
  const auto prefix = path.string() + ": ";
  const auto named = [&](const std::string& text) {
    return core::UserError(core::ExitCode::checkpoint, text.starts_with(prefix) ? text : prefix + text);
  };
  try {
    body();
  } catch (const core::UserError& error) {
    throw named(error.what());
  } catch (const DiskError& error) {
    throw named(error.what());
  }
}

}  // namespace galvatron::store
