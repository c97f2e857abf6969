// Megatron's pair of files: ids in .bin, and in .idx where sequences and documents begin. Counts are 64 bits
// wide and come from outside, so nothing is multiplied before it is known to fit into the file.
#include <algorithm>
#include <cstring>
#include <optional>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/token_file.hpp"

namespace galvatron::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic{"MMIDIDX\0\0", 9};
constexpr int64_t header_bytes = 34;
constexpr int64_t size_bytes = 4;
constexpr int64_t pointer_bytes = 8;

fs::path data_of(const fs::path& path) {
  if (path.extension() == ".bin") return path;
  auto data = path;
  return data += ".bin";
}

/// The type of a code of Megatron's DType; floats (6 and 7) are no ids.
std::optional<TokenType> type_of(uint8_t code) {
  switch (code) {
    case 1:
      return TokenType::u8;
    case 2:
      return TokenType::i8;
    case 3:
      return TokenType::i16;
    case 4:
      return TokenType::i32;
    case 5:
      return TokenType::i64;
    case 8:
      return TokenType::u16;
    default:
      return std::nullopt;
  }
}

/// The checked header of an index and where its tables lie.
class Index {
 public:
  explicit Index(const MappedFile& file) : file_(file), bytes_(file.bytes()) {
    const auto size = static_cast<int64_t>(bytes_.size());
    if (size < header_bytes) refuse(size, "a header of 34 bytes", "the end of the file");
    if (std::memcmp(bytes_.data(), magic.data(), magic.size()) != 0)
      refuse(0, "the magic MMIDIDX of a Megatron index", "something else");
    if (const auto version = number_at<uint64_t>(bytes_, 9); version != 1)
      refuse(9, "version 1", std::to_string(version));
    const auto code = number_at<uint8_t>(bytes_, 17);
    const auto found = type_of(code);
    if (!found) refuse(17, "a code of an integer type: 1 to 5, or 8", std::to_string(code));
    type = *found;
    const auto sequence_count = number_at<uint64_t>(bytes_, 18);
    const auto entries = number_at<uint64_t>(bytes_, 26);
    const auto room = static_cast<uint64_t>(size - header_bytes);
    if (sequence_count < 1 || sequence_count > room / (size_bytes + pointer_bytes))
      refuse(18, core::format("a count of sequences that fits into a file of {} bytes", size),
             std::to_string(sequence_count));
    const auto left = room - sequence_count * (size_bytes + pointer_bytes);
    if (entries > left / pointer_bytes)
      refuse(26, core::format("a count of document boundaries that fits into a file of {} bytes", size),
             std::to_string(entries));
    sequences = static_cast<int64_t>(sequence_count);
    boundaries = static_cast<int64_t>(entries);
    // Indices of several modalities end with one byte per sequence.
    const auto rest = left - entries * pointer_bytes;
    if (rest != 0 && rest != sequence_count)
      refuse(size - static_cast<int64_t>(rest), "the end of the file", core::format("{} more bytes", rest));
  }

  int64_t size_of_sequence(int64_t i) const {
    return number_at<int32_t>(bytes_, header_bytes + i * size_bytes);
  }
  int64_t pointer(int64_t i) const { return number_at<int64_t>(bytes_, pointer_place(i)); }
  int64_t boundary(int64_t i) const { return number_at<int64_t>(bytes_, boundary_place(i)); }
  int64_t pointer_place(int64_t i) const { return header_bytes + sequences * size_bytes + i * pointer_bytes; }
  int64_t boundary_place(int64_t i) const { return pointer_place(sequences) + i * pointer_bytes; }

  /// Sequences must lie end to end, so that the whole data file is one row.
  void check_sequences(CheckShare share, int64_t data_bytes) const {
    const auto width = size_of(type);
    for (auto i = share.begin(sequences); i < share.end(sequences); ++i) {
      const auto tokens = size_of_sequence(i), begin = pointer(i);
      if (tokens < 0) refuse(header_bytes + i * size_bytes, "a count of tokens", std::to_string(tokens));
      if (i == 0 && begin != 0)
        refuse(pointer_place(0), "0, the place of the first sequence", std::to_string(begin));
      if (begin < 0 || begin > data_bytes || tokens > (data_bytes - begin) / width)
        refuse(pointer_place(i),
               core::format("a place for {} tokens in a data file of {} bytes", tokens, data_bytes),
               std::to_string(begin));
      const auto end = begin + tokens * width;
      const auto next = i + 1 < sequences ? pointer(i + 1) : data_bytes;
      if (next == end) continue;
      if (i + 1 < sequences)
        refuse(pointer_place(i + 1), core::format("{}, the end of the sequence before", end),
               std::to_string(next));
      refuse(pointer_place(i),
             core::format("a last sequence that ends with the data file, at {}", data_bytes),
             core::format("one that ends at {}", end));
    }
  }

  /// From 0 to the number of sequences, never back; an index that has no such list has one document.
  void check_boundaries(CheckShare share) const {
    if (boundaries < 2) return;
    for (auto i = share.begin(boundaries); i < share.end(boundaries); ++i) {
      const auto at = boundary(i);
      const auto low = i == 0 ? 0 : i + 1 == boundaries ? sequences : boundary(i - 1);
      const auto high = i == 0 ? 0 : sequences;
      if (at >= low && at <= high) continue;
      refuse(boundary_place(i), core::format("a sequence from {} to {}", low, high), std::to_string(at));
    }
  }

  TokenType type = TokenType::u16;
  int64_t sequences = 0;
  int64_t boundaries = 0;  ///< one more than documents

 private:
  [[noreturn]] void refuse(int64_t offset, const std::string& expected, const std::string& found) const {
    refuse_file(file_.path(), offset, expected, found);
  }

  const MappedFile& file_;
  std::span<const std::byte> bytes_;
};

}  // namespace

fs::path megatron_index_of(const fs::path& data) {
  return fs::path(data).replace_extension(".idx");
}

TokenFile detail::megatron_file(const fs::path& path, CheckShare share) {
  const auto data = data_of(path);
  const MappedFile index_file(megatron_index_of(data)), data_file(data);
  const Index index(index_file);
  const auto bytes = static_cast<int64_t>(data_file.bytes().size());
  const auto width = size_of(index.type);
  const auto last = index.sequences - 1;
  // The commonest damage, a data file cut short, is told of the data file.
  const auto begin = index.pointer(last), length = index.size_of_sequence(last);
  if (bytes % width != 0 || (begin >= 0 && length >= 0 && begin > bytes - length * width))
    refuse_file(data, bytes,
                core::format("{} more bytes, as {} says",
                             bytes % width != 0 ? width - bytes % width : begin - (bytes - length * width),
                             index_file.path().string()),
                "the end of the file");
  index.check_sequences(share, bytes);
  index.check_boundaries(share);
  if (bytes == 0) refuse_file(data, 0, "tokens", "an empty file");
  return {data, index.type, 0, bytes / width, 0};
}

MegatronDocuments::MegatronDocuments(const fs::path& data) : index_(megatron_index_of(data)) {
  const Index index(index_);
  sequences_ = index.sequences;
  documents_ = std::max<int64_t>(0, index.boundaries - 1);
}

int64_t MegatronDocuments::tokens_of(int64_t document) const {
  GALV_ASSERT(document >= 0 && document < documents_, document, documents_);
  const Index index(index_);
  const auto first = index.boundary(document), last = index.boundary(document + 1);
  if (first == last) return 0;
  const auto begin = index.pointer(first), end = index.pointer(last - 1);
  return (end - begin) / size_of(index.type) + index.size_of_sequence(last - 1);
}

}  // namespace galvatron::store
