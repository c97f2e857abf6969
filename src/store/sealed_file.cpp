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

TablePlace place_of_table(const Header& header) {
  return {header.table_address, header.rows};
}

[[noreturn]] void refuse(const std::string& text) {
  throw core::UserError(core::ExitCode::checkpoint, text);
}

class Digest {
 public:
  Digest() : state_(XXH3_createState(), XXH3_freeState) { XXH3_64bits_reset(state_.get()); }

  void add(std::span<const std::byte> bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  /// Bytes [begin, end) of the file.
  void add(const File& file, int64_t begin, int64_t end) {
    if (begin >= end) return;
    buffer_.resize(static_cast<size_t>(std::min(digest_chunk, end - begin)));
    for (int64_t at = begin; at < end; at += digest_chunk) {
      const auto part = std::span(buffer_).first(static_cast<size_t>(std::min(digest_chunk, end - at)));
      file.read(at, part);
      add(part);
    }
  }
  uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
  std::vector<std::byte> buffer_;
};

/// Hash of everything that neither the header nor the table nor a row covers. Refuses rows that leave the
/// file or overlap.
uint64_t metadata_hash_of(const File& file, const Header& header, const std::vector<BlockRun>& runs) {
  Digest digest;
  int64_t at = sizeof(Header);
  const auto cover = [&](int64_t begin, int64_t bytes) {
    if (begin < at) refuse(core::format("two blocks claim byte {}", begin));
    digest.add(file, at, begin);
    at = begin + bytes;
  };
  const auto table_bytes = place_of_table(header).bytes();
  bool table_is_next = header.rows > 0;
  BlockWalk blocks(runs);
  while (const auto row = blocks.next()) {
    if (!is_sound(*row) || row->address < user_block_bytes || row->address > header.file_bytes - row->bytes)
      refuse(core::format("a block claims the {} bytes at {} and {} elements at {}", row->bytes, row->address,
                          row->count, row->offset));
    if (table_is_next && header.table_address <= row->address) {
      cover(header.table_address, table_bytes);
      table_is_next = false;
    }
    cover(row->address, row->bytes);
  }
  if (table_is_next) cover(header.table_address, table_bytes);
  digest.add(file, at, header.file_bytes);
  return digest.value();
}

struct ReadTable {
  std::vector<BlockRun> runs;  ///< in the order of the table
  uint64_t hash = 0;
};

ReadTable read_table(const File& file, const TablePlace& place) {
  ReadTable table;
  Digest digest;
  int64_t index = 0;
  read_windows(file, place, [&](std::span<const BlockRow> window) {
    digest.add(std::as_bytes(window));
    append_runs(table.runs, window, index);
    index += static_cast<int64_t>(window.size());
  });
  table.hash = digest.value();
  return table;
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
  if (header.rows > 0 && (header.table_address < user_block_bytes ||
                          header.table_address > header.file_bytes - place_of_table(header).bytes()))
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
  const auto table = read_table(file, place_of_table(header));
  header.table_hash = table.hash;
  header.metadata_hash = metadata_hash_of(file, header, table.runs);
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
    auto table = read_table(file, place_of_table(header));
    if (table.hash != header.table_hash) refuse("the block table is damaged");
    if (metadata_hash_of(file, header, table.runs) != header.metadata_hash)
      refuse("the description of its contents is damaged");
    std::sort(table.runs.begin(), table.runs.end(), [](const BlockRun& a, const BlockRun& b) {
      return std::tie(a.first.tensor, a.first.offset) < std::tie(b.first.tensor, b.first.offset);
    });
    sealed = std::make_unique<SealedFile>(
        SealedFile{std::move(file), place_of_table(header), std::move(table.runs)});
  });
  return std::move(*sealed);
}

std::optional<BlockRow> SealedRows::next() {
  auto row = walk_.next();
  if (row) row->hash = hashes_.of(walk_.index());
  return row;
}

bool row_is_whole(const File& file, const BlockRow& row) {
  Digest digest;
  digest.add(file, row.address, row.address + row.bytes);
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
