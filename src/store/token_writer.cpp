// Three formats, one way to write: ids stream to their place, what depends on all of them comes last.
#include "store/token_writer.hpp"

#include <array>
#include <cstring>
#include <limits>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::store {
namespace {

namespace fs = std::filesystem;

constexpr size_t buffer_bytes = size_t{1} << 20;
constexpr int64_t longest_sequence = std::numeric_limits<int32_t>::max();
constexpr int64_t index_header_bytes = 34;

template <typename T>
void put(std::vector<std::byte>& bytes, T value) {
  const auto raw = bytes_of(value);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

void put(std::vector<std::byte>& bytes, TokenType type, int64_t value) {
  switch (type) {
    case TokenType::u8:
    case TokenType::i8:
      return put(bytes, static_cast<uint8_t>(value));
    case TokenType::u16:
    case TokenType::i16:
      return put(bytes, static_cast<uint16_t>(value));
    case TokenType::u32:
    case TokenType::i32:
      return put(bytes, static_cast<uint32_t>(value));
    case TokenType::i64:
      return put(bytes, value);
  }
}

fs::path megatron_data(const fs::path& path) {
  if (path.extension() == ".bin") return path;
  auto data = path;
  return data += ".bin";
}

/// Ids of one file behind a header of known size; for llm.c and HDF5, which know no documents.
class RowWriter final : public TokenWriter {
 public:
  RowWriter(TokenFormat format, const TokenOutput& output) : output_(output), pending_(output.path) {
    const auto type = type_for(format, output.vocabulary);
    const auto begin = format == TokenFormat::llmc
                           ? write_llmc_header(type)
                           : detail::lay_out_hdf5_tokens(pending_.file(), type, output);
    ids_.emplace(pending_.file(), begin, type);
  }

  void append(std::span<const int32_t> ids) override {
    ids_->append(ids);
    written_ += static_cast<int64_t>(ids.size());
  }

  std::vector<fs::path> finish() override {
    GALV_ASSERT(written_ == output_.tokens, written_, output_.tokens);
    ids_->flush();
    pending_.commit();
    return {pending_.path()};
  }

 private:
  int64_t write_llmc_header(TokenType type) const {
    if (output_.tokens > std::numeric_limits<int32_t>::max())
      throw core::UserError(
          core::ExitCode::data,
          core::format("{}: {} tokens are more than llm.c's format can count ({}); use "
                       "--to tokens or megatron, or convert the files one by one",
                       output_.path.string(), output_.tokens, std::numeric_limits<int32_t>::max()));
    std::array<int32_t, 256> header{};
    header[0] = type == TokenType::u16 ? 20240520 : 20240801;
    header[1] = type == TokenType::u16 ? 1 : 7;
    header[2] = static_cast<int32_t>(output_.tokens);
    pending_.file().write(0, std::as_bytes(std::span(header)));
    return static_cast<int64_t>(sizeof(header));
  }

  TokenOutput output_;
  PendingFile pending_;
  std::optional<NumberStream> ids_;
  int64_t written_ = 0;
};

/// Lengths go to the index as documents end; places, boundaries and counts follow at the end, so memory does
/// not grow with the number of documents.
class MegatronWriter final : public TokenWriter {
 public:
  explicit MegatronWriter(const TokenOutput& output)
      : output_(output),
        data_(megatron_data(output.path)),
        index_(megatron_index_of(megatron_data(output.path))),
        type_(type_for(TokenFormat::megatron, output.vocabulary)),
        ids_(data_.file(), 0, type_),
        lengths_(index_.file(), index_header_bytes, TokenType::i32) {}

  void append(std::span<const int32_t> ids) override {
    while (!ids.empty()) {
      // What is longer than the format can count becomes several documents.
      if (length_ == longest_sequence) end_document();
      const auto here = std::min(static_cast<int64_t>(ids.size()), longest_sequence - length_);
      ids_.append(ids.first(static_cast<size_t>(here)));
      length_ += here;
      written_ += here;
      ids = ids.subspan(static_cast<size_t>(here));
    }
  }

  void end_document() override {
    lengths_.append(length_);
    length_ = 0;
    ++documents_;
  }

  std::vector<fs::path> finish() override {
    if (length_ > 0) end_document();
    GALV_ASSERT(written_ == output_.tokens, written_, output_.tokens);
    ids_.flush();
    lengths_.flush();
    write_places();
    write_header();
    data_.commit();
    index_.commit();  // last: a pair without an index is not found
    return {data_.path(), index_.path()};
  }

 private:
  void write_places() const {
    constexpr int64_t chunk = 1 << 16;
    NumberStream places(index_.file(), index_header_bytes + 4 * documents_, TokenType::i64);
    std::vector<int32_t> lengths;
    int64_t place = 0;
    for (int64_t first = 0; first < documents_; first += chunk) {
      lengths.resize(static_cast<size_t>(std::min(chunk, documents_ - first)));
      index_.file().read(index_header_bytes + 4 * first, std::as_writable_bytes(std::span(lengths)));
      for (const int64_t length : lengths) {
        places.append(place);
        place += length * size_of(type_);
      }
    }
    for (int64_t document = 0; document <= documents_; ++document) places.append(document);
    places.flush();
  }

  void write_header() const {
    std::vector<std::byte> header;
    for (const char c : std::string_view("MMIDIDX\0\0", 9)) put(header, c);
    put(header, uint64_t{1});
    put(header, static_cast<uint8_t>(type_ == TokenType::u16 ? 8 : 4));
    put(header, documents_);
    put(header, documents_ + 1);
    GALV_ASSERT(static_cast<int64_t>(header.size()) == index_header_bytes);
    index_.file().write(0, header);
  }

  TokenOutput output_;
  PendingFile data_, index_;
  TokenType type_;
  NumberStream ids_, lengths_;
  int64_t length_ = 0, documents_ = 0, written_ = 0;
};

}  // namespace

PendingFile::PendingFile(fs::path path) : path_(std::move(path)), temporary_(path_.string() + ".tmp") {
  std::error_code ignored;
  fs::remove(temporary_, ignored);  // of an attempt that was killed
  file_.emplace(temporary_, File::Mode::create);
}

PendingFile::~PendingFile() {
  std::error_code ignored;
  if (file_) fs::remove(temporary_, ignored);
}

void PendingFile::commit() {
  file_->sync();
  rename_file(temporary_, path_);
  file_.reset();
  sync_folder(path_.has_parent_path() ? path_.parent_path() : fs::path("."));
}

void NumberStream::append(std::span<const int32_t> ids) {
  for (const int32_t id : ids) append(int64_t{id});
}

void NumberStream::append(int64_t number) {
  put(buffer_, type_, number);
  if (buffer_.size() >= buffer_bytes) flush();
}

void NumberStream::flush() {
  file_.write(offset_, buffer_);
  offset_ += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
}

TokenType type_for(TokenFormat format, int64_t vocabulary) {
  if (format == TokenFormat::tokens && vocabulary <= 1 << 8) return TokenType::u8;
  if (vocabulary <= 1 << 16) return TokenType::u16;
  return format == TokenFormat::llmc ? TokenType::u32 : TokenType::i32;
}

std::vector<fs::path> files_of_writer(TokenFormat format, const fs::path& path) {
  if (format != TokenFormat::megatron) return {path};
  return {megatron_data(path), megatron_index_of(megatron_data(path))};
}

std::unique_ptr<TokenWriter> make_token_writer(TokenFormat format, const TokenOutput& output) {
  GALV_ASSERT(format != TokenFormat::text);
  if (format == TokenFormat::megatron) return std::make_unique<MegatronWriter>(output);
  return std::make_unique<RowWriter>(format, output);
}

}  // namespace galvatron::store
