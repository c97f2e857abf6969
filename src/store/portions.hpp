#pragma once
// Work on many short stretches of a file, done for a portion of them at a time.

#include <cstdint>

#include "store/checkpoint_pieces.hpp"
#include "store/file.hpp"

namespace galvatron::store {

/// What is done once for every block's worth of bytes: a tensor cut by columns has a row of the block table
/// for each of its own rows, and a call of the system for each of those is slower than the disk.
class Portions {
 public:
  /// Whether `bytes` more complete a portion.
  bool complete(int64_t bytes) {
    bytes_ += bytes;
    if (bytes_ < block_bytes) return false;
    bytes_ = 0;
    return true;
  }

 private:
  int64_t bytes_ = 0;
};

/// Has the disk begin with what was written, in stretches that are worth a call. What lies between two of a
/// rank's own stretches is other ranks' and has begun as well.
class SyncAhead {
 public:
  explicit SyncAhead(const File& file) : file_(file) {}

  void written(int64_t address, int64_t bytes) {
    if (address < end_ || address - end_ > block_bytes) begin();
    if (begin_ == end_) begin_ = address;
    end_ = address + bytes;
    if (portions_.complete(bytes)) begin();
  }
  void begin() {
    if (end_ > begin_) file_.begin_sync(begin_, end_ - begin_);
    begin_ = end_;
  }

 private:
  const File& file_;
  Portions portions_;
  int64_t begin_ = 0, end_ = 0;
};

}  // namespace galvatron::store
