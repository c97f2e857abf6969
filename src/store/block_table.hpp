#pragma once
// The block table of a checkpoint, without holding it: one row of it stands for one stretch of a tensor, and
// a tensor that was cut by columns has as many as it has rows. What follows by equal steps is one run here;
// hashes, which follow no rule, stay in the file until one is wanted.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "store/file.hpp"
#include "store/interleaved.hpp"

namespace galvatron::store {

/// One stretch of raw data: elements [offset, offset + count) of a tensor, which are the file's bytes
/// [address, address + bytes). As it lies in the dataset /blocks, little-endian.
struct BlockRow {
  int64_t tensor = 0;
  int64_t offset = 0;
  int64_t count = 0;
  int64_t address = 0;
  int64_t bytes = 0;
  int64_t writer = 0;  ///< rank that wrote it
  uint64_t hash = 0;   ///< XXH3, 64 bits, of these bytes
};

/// Rows of the table are read and written this many at a time.
constexpr int64_t window_rows = 4096;

/// Where the table lies in its file.
struct TablePlace {
  int64_t address = 0;
  int64_t rows = 0;

  int64_t address_of(int64_t row) const { return address + row * static_cast<int64_t>(sizeof(BlockRow)); }
  int64_t bytes() const { return address_of(rows) - address; }
};

/// Rows behind one another in the table that differ by the same step of offset and address.
struct BlockRun {
  BlockRow first;
  int64_t index = 0;  ///< of `first` in the table
  int64_t times = 1;
  int64_t stride = 0;          ///< elements; at least `count` where there are several
  int64_t address_stride = 0;  ///< bytes; at least `bytes` where there are several

  /// Row number `index + time` of the table, its hash left 0.
  BlockRow row(int64_t time) const;
};

/// Calls `see` with the table's rows, window after window.
void read_windows(const File& file, const TablePlace& table,
                  const std::function<void(std::span<const BlockRow>)>& see);

/// Whether the row makes sense by itself: a first element and byte, and some of both behind.
bool is_sound(const BlockRow& row);

/// Appends the rows of one window, whose first has number `index` in the table, as runs; a row that is not
/// sound is a run of its own.
void append_runs(std::vector<BlockRun>& runs, std::span<const BlockRow> window, int64_t index);

/// The rows of all runs in the order of addresses, hashes left 0.
class BlockWalk {
 public:
  explicit BlockWalk(const std::vector<BlockRun>& runs);

  std::optional<BlockRow> next();
  /// Number in the table of the row given last.
  int64_t index() const { return index_; }

 private:
  const std::vector<BlockRun>& runs_;
  Interleaved walk_;
  int64_t index_ = 0;
};

/// Hashes by row number, read from the file a page at a time; some pages are kept.
class RowHashes {
 public:
  RowHashes(const File& file, const TablePlace& table) : file_(file), table_(table), pages_(kept_pages) {}

  uint64_t of(int64_t index);

 private:
  static constexpr int64_t page_rows = 64;
  static constexpr size_t kept_pages = 256;
  struct Page {
    int64_t number = -1;
    std::vector<uint64_t> hashes;
  };

  const File& file_;
  TablePlace table_;
  std::vector<Page> pages_;  // a page has one place only, by its number
};

}  // namespace galvatron::store
