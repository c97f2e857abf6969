// The file: a header of 64 bytes, the training text, the validation text, then the XXH3 of every 4 MiB of
// both.
#include "store/text_index.hpp"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/file.hpp"

namespace galvatron::store {
namespace {

constexpr int64_t block_bytes = int64_t{4} << 20;

struct Header {
  char magic[8] = {'G', 'A', 'L', 'V', 'T', 'X', 'T', '1'};
  uint64_t digest = 0;  ///< XXH3 of the rest of the header and of the block table
  uint64_t fingerprint = 0;
  int64_t train_bytes = 0;
  int64_t valid_bytes = 0;
  uint64_t train_hash = 0;  ///< XXH3 of the whole training text
  uint64_t valid_hash = 0;
  int64_t blocks = 0;
};
static_assert(sizeof(Header) == 64);

uint64_t digest_of(const Header& header, std::span<const std::byte> table) {
  const auto rest = bytes_of(header).subspan(offsetof(Header, fingerprint));
  return XXH3_64bits_withSeed(table.data(), table.size(), XXH3_64bits(rest.data(), rest.size()));
}

std::string random_text() {
  std::random_device dice;
  return core::format("{:08x}{:08x}{:08x}", dice(), dice(), dice());
}

/// A hash of bytes that come one stretch after the other.
class RunningHash {
 public:
  RunningHash() : state_(XXH3_createState(), XXH3_freeState) { XXH3_64bits_reset(state_.get()); }
  void add(std::span<const std::byte> bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  /// Of what was added since the last call of restart().
  uint64_t value() const { return XXH3_64bits_digest(state_.get()); }
  void restart() { XXH3_64bits_reset(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

/// A file that is gone when this is, unless it was given another name.
class Draft {
 public:
  explicit Draft(const std::filesystem::path& folder)
      : path_(folder / (".galvatron-draft-" + random_text())), file_(path_, File::Mode::create) {}
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (!published_) ::unlink(path_.c_str());
  }
  void append(std::span<const std::byte> bytes) {
    file_.write(end_, bytes);
    end_ += static_cast<int64_t>(bytes.size());
  }
  void publish(const std::filesystem::path& name) {
    file_.sync();
    rename_file(path_, name);
    published_ = true;
    sync_folder(name.parent_path());
  }
  const File& file() const { return file_; }
  int64_t end() const { return end_; }

 private:
  std::filesystem::path path_;
  File file_;
  int64_t end_ = 0;
  bool published_ = false;
};

}  // namespace

std::string index_name_of(const TextSources& sources) {
  return core::format(".galvatron-text-{:016x}", name_of(sources));
}

class TextIndexBuilder::State {
 public:
  State(const TextSources& sources, const std::filesystem::path& folder)
      : sources_(sources), name_(folder / index_name_of(sources)), draft_(folder), valid_(folder) {
    header_.fingerprint = fingerprint_of(sources);
    draft_.append(bytes_of(header_));
  }

  /// One stretch; true when all is done.
  bool step() {
    if (file_ < sources_.files.size()) {
      read_stretch();
    } else if (copied_ < valid_.end()) {
      copy_validation();
    } else {
      publish();
      return true;
    }
    return false;
  }

  std::string where() const {
    const auto all = std::max<int64_t>(1, sources_.bytes());
    return core::format("pack the text into {}: {} %", name_.string(),
                        std::min<int64_t>(100, 100 * read_ / all));
  }

 private:
  /// As read_text() has it: a newline ends every text.
  void read_stretch() {
    const auto& source = sources_.files[file_];
    read_as_data([&] {
      if (!open_) open_text(source);
      if (open_->size() != source.bytes) throw DiskError(source.path + " changes while it is read");
      const auto count = std::min(split_bytes, source.bytes + newline_ - offset_);
      text_.assign(static_cast<size_t>(count), '\n');
      const auto held = static_cast<size_t>(std::min(count, source.bytes - offset_));
      open_->read(offset_, std::as_writable_bytes(std::span(text_).first(held)));
    });
    offset_ += static_cast<int64_t>(text_.size());
    read_ += static_cast<int64_t>(text_.size());
    const auto cut = validation_of(text_, source.share);
    const auto bytes = std::as_bytes(std::span(text_));
    train_hash_.add(bytes.first(cut));
    append(bytes.first(cut));
    valid_hash_.add(bytes.subspan(cut));
    valid_.append(bytes.subspan(cut));
    if (offset_ < source.bytes + newline_) return;
    open_.reset();
    offset_ = 0;
    ++file_;
  }

  void open_text(const TextFile& source) {
    open_.emplace(source.path, File::Mode::read);
    char last = '\n';
    if (source.bytes > 0) open_->read(source.bytes - 1, writable_bytes_of(last));
    newline_ = last == '\n' ? 0 : 1;
  }

  /// To the index itself, block by block.
  void append(std::span<const std::byte> bytes) {
    draft_.append(bytes);
    while (!bytes.empty()) {
      const auto count = std::min(bytes.size(), static_cast<size_t>(block_bytes - in_block_));
      block_hash_.add(bytes.first(count));
      in_block_ += static_cast<int64_t>(count);
      bytes = bytes.subspan(count);
      if (in_block_ == block_bytes) end_block();
    }
  }

  void end_block() {
    table_.push_back(block_hash_.value());
    block_hash_.restart();
    in_block_ = 0;
  }

  void copy_validation() {
    if (copied_ == 0) header_.train_bytes = draft_.end() - static_cast<int64_t>(sizeof(Header));
    text_.resize(static_cast<size_t>(std::min(split_bytes, valid_.end() - copied_)));
    valid_.file().read(copied_, std::as_writable_bytes(std::span(text_)));
    copied_ += static_cast<int64_t>(text_.size());
    append(std::as_bytes(std::span(text_)));
  }

  void publish() {
    if (valid_.end() == 0) header_.train_bytes = draft_.end() - static_cast<int64_t>(sizeof(Header));
    header_.valid_bytes = valid_.end();
    header_.train_hash = train_hash_.value();
    header_.valid_hash = valid_hash_.value();
    if (in_block_ > 0) end_block();
    header_.blocks = static_cast<int64_t>(table_.size());
    const auto table = std::as_bytes(std::span(table_));
    header_.digest = digest_of(header_, table);
    draft_.append(table);
    draft_.file().write(0, bytes_of(header_));
    draft_.publish(name_);
  }

  const TextSources sources_;
  std::filesystem::path name_;
  Draft draft_, valid_;
  Header header_;
  RunningHash train_hash_, valid_hash_, block_hash_;
  std::vector<uint64_t> table_;
  int64_t in_block_ = 0;
  std::optional<File> open_;
  size_t file_ = 0;
  int64_t newline_ = 0;  ///< 1 where the open file does not end its last line
  int64_t offset_ = 0, read_ = 0, copied_ = 0;
  std::string text_;
};

TextIndexBuilder::TextIndexBuilder(const TextSources& sources, const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  state_ = std::make_unique<State>(sources, folder);
}

TextIndexBuilder::~TextIndexBuilder() = default;

bool TextIndexBuilder::work(double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  while (!state_->step())
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >= seconds)
      return false;
  return true;
}

std::string TextIndexBuilder::where() const {
  return state_->where();
}

namespace {

[[noreturn]] void damaged(const std::filesystem::path& path, const std::string& what) {
  throw core::UserError(core::ExitCode::data, core::format("{}: {}", path.string(), what));
}

}  // namespace

std::optional<TextIndex> TextIndex::open(const std::filesystem::path& folder, const TextSources& sources) {
  return open(folder / index_name_of(sources), fingerprint_of(sources));
}

std::optional<TextIndex> TextIndex::open(const std::filesystem::path& file, uint64_t fingerprint) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return {};
  TextIndex index;
  index.map_ = std::make_shared<const MappedFile>(file);
  const auto bytes = index.map_->bytes();
  Header header;
  if (bytes.size() < sizeof header) damaged(file, "is too short for its header");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, Header().magic, sizeof header.magic) != 0) damaged(file, "has another magic");
  const auto room = static_cast<int64_t>(bytes.size() - sizeof header);
  const bool sane = header.train_bytes >= 0 && header.train_bytes <= room && header.valid_bytes >= 0 &&
                    header.valid_bytes <= room - header.train_bytes;
  const auto text = sane ? header.train_bytes + header.valid_bytes : 0;
  const auto blocks = (text + block_bytes - 1) / block_bytes;
  if (!sane || header.blocks != blocks || room - text != blocks * int64_t{sizeof(uint64_t)})
    damaged(file, "was cut or grew");
  if (header.digest != digest_of(header, bytes.subspan(bytes.size() - static_cast<size_t>(room - text))))
    damaged(file, "has a header or a block table that was changed");
  if (header.fingerprint != fingerprint) return {};
  index.fingerprint_ = fingerprint;
  index.train_bytes_ = header.train_bytes;
  index.valid_bytes_ = header.valid_bytes;
  index.train_hash_ = header.train_hash;
  index.valid_hash_ = header.valid_hash;
  index.blocks_ = blocks;
  return index;
}

bool TextIndex::block_is_whole(int64_t block) const {
  GALV_ASSERT(block >= 0 && block < blocks_, block, blocks_);
  const auto text = map_->bytes().subspan(sizeof(Header), static_cast<size_t>(train_bytes_ + valid_bytes_));
  const auto begin = static_cast<size_t>(block * block_bytes);
  const auto bytes = text.subspan(begin, std::min(text.size() - begin, static_cast<size_t>(block_bytes)));
  uint64_t expected = 0;
  std::memcpy(&expected, text.data() + text.size() + block * int64_t{sizeof expected}, sizeof expected);
  return XXH3_64bits(bytes.data(), bytes.size()) == expected;
}

std::unique_ptr<Dataset> TextIndex::train() const {
  const auto text = map_->bytes().subspan(sizeof(Header), static_cast<size_t>(train_bytes_));
  return make_text_dataset(map_, text, train_hash_);
}

std::unique_ptr<Dataset> TextIndex::valid() const {
  if (valid_bytes_ == 0) return nullptr;
  const auto text = map_->bytes().subspan(sizeof(Header) + static_cast<size_t>(train_bytes_),
                                          static_cast<size_t>(valid_bytes_));
  return make_text_dataset(map_, text, valid_hash_);
}

}  // namespace galvatron::store
