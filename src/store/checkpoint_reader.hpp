#pragma once
// A checkpoint that is open for reading: any stretch of any tensor, with the hash of every block that it
// touches.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "store/block_table.hpp"
#include "store/checkpoint.hpp"
#include "store/sealed_file.hpp"

namespace galvatron::store {

/// A row's place in the table, for messages.
std::string block_text(const BlockRow& row, const std::string& tensor);

/// Local. The constructor and read() throw UserError (checkpoint) naming the file and what is wrong with it.
class CheckpointReader {
 public:
  /// `window`: how to look at the memory that is read into, as in CheckpointOptions.
  explicit CheckpointReader(const std::filesystem::path& path, device::HostWindow* window = nullptr);
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  /// In the file's order.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }

  /// Elements [offset, offset + count) of tensor number `tensor`. After an error `out` is unspecified, and
  /// other blocks can still be read.
  void read(int64_t tensor, int64_t offset, int64_t count, std::byte* out);

 private:
  struct Found {
    BlockRow row;
    int64_t index = 0;
  };

  void copy(int64_t tensor, int64_t offset, int64_t count, std::byte* out);
  std::optional<Found> find(int64_t tensor, int64_t offset) const;
  const std::byte* whole_block(const BlockRow& row, int64_t index);
  [[noreturn]] void damaged(const BlockRow& row) const;

  std::filesystem::path path_;
  SealedFile sealed_;
  std::vector<TensorInfo> tensors_;
  device::HostWindow* window_;
  RowHashes hashes_;
  std::vector<int64_t> reach_;  ///< per run: where it and those of the tensor before it end
  int64_t in_scratch_ = -1;     ///< the row that was last read in part: neighbours often want the rest of it
  std::vector<std::byte> scratch_;
};

}  // namespace galvatron::store
