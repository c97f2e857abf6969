// Tables come from files that nobody vouches for: a row is believed only as far as it makes sense by itself,
// and rows that follow no rule are runs of one.
#include "store/block_table.hpp"

#include <algorithm>
#include <limits>

#include "core/errors.hpp"

namespace galvatron::store {
namespace {

/// Whether the row is the next one of the run.
bool continues(const BlockRun& run, const BlockRow& row) {
  const auto& first = run.first;
  if (!is_sound(first) || !is_sound(row) || row.tensor != first.tensor || row.count != first.count ||
      row.bytes != first.bytes || row.writer != first.writer)
    return false;
  const auto last = run.row(run.times - 1);
  const auto stride = row.offset - last.offset, address_stride = row.address - last.address;
  if (run.times > 1) return stride == run.stride && address_stride == run.address_stride;
  return stride >= first.count && address_stride >= first.bytes;
}

std::vector<Repeated> addresses_of(const std::vector<BlockRun>& runs) {
  std::vector<Repeated> places;
  places.reserve(runs.size());
  for (size_t i = 0; i < runs.size(); ++i)
    places.push_back({runs[i].first.address, runs[i].address_stride, runs[i].times, static_cast<int64_t>(i)});
  return places;
}

}  // namespace

bool is_sound(const BlockRow& row) {
  constexpr auto most = std::numeric_limits<int64_t>::max();
  return row.address >= 0 && row.bytes > 0 && row.address <= most - row.bytes && row.offset >= 0 &&
         row.count > 0 && row.offset <= most - row.count;
}

BlockRow BlockRun::row(int64_t time) const {
  BlockRow row = first;
  row.offset += time * stride;
  row.address += time * address_stride;
  row.hash = 0;
  return row;
}

void read_windows(const File& file, const TablePlace& table,
                  const std::function<void(std::span<const BlockRow>)>& see) {
  std::vector<BlockRow> window;
  for (int64_t done = 0; done < table.rows; done += window_rows) {
    window.resize(static_cast<size_t>(std::min(window_rows, table.rows - done)));
    file.read(table.address_of(done), std::as_writable_bytes(std::span(window)));
    see(window);
  }
}

void append_runs(std::vector<BlockRun>& runs, std::span<const BlockRow> window, int64_t index) {
  for (const auto& row : window) {
    if (!runs.empty() && continues(runs.back(), row)) {
      auto& run = runs.back();
      run.stride = row.offset - run.row(run.times - 1).offset;
      run.address_stride = row.address - run.row(run.times - 1).address;
      ++run.times;
    } else {
      runs.push_back({row, index});
    }
    ++index;
  }
}

BlockWalk::BlockWalk(const std::vector<BlockRun>& runs) : runs_(runs), walk_(addresses_of(runs)) {}

std::optional<BlockRow> BlockWalk::next() {
  const auto place = walk_.next();
  if (!place) return std::nullopt;
  const auto& run = runs_[static_cast<size_t>(place->owner)];
  index_ = run.index + place->time;
  return run.row(place->time);
}

uint64_t RowHashes::of(int64_t index) {
  GALV_ASSERT(index >= 0 && index < table_.rows, index, table_.rows);
  const auto number = index / page_rows;
  auto& page = pages_[static_cast<size_t>(number) % kept_pages];
  if (page.number != number) {
    page.number = -1;
    const auto first = number * page_rows;
    std::vector<BlockRow> rows(static_cast<size_t>(std::min(page_rows, table_.rows - first)));
    file_.read(table_.address_of(first), std::as_writable_bytes(std::span(rows)));
    page.hashes.clear();
    for (const auto& row : rows) page.hashes.push_back(row.hash);
    page.number = number;
  }
  return page.hashes[static_cast<size_t>(index % page_rows)];
}

}  // namespace galvatron::store
