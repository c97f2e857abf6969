// Text files become one row of bytes for training and one for validation, the same on every rank.
#include "store/text_dataset.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/file.hpp"

namespace galvatron::store {
namespace {

/// Of each such stretch of a file the last share goes to validation.
constexpr int64_t split_bytes = int64_t{256} << 10;

class TextDataset final : public Dataset {
 public:
  explicit TextDataset(std::string bytes) : bytes_(std::move(bytes)) {}

  int64_t tokens() const override { return static_cast<int64_t>(bytes_.size()); }
  int64_t vocabulary() const override { return 256; }
  void read(int64_t offset, std::span<int32_t> out) const override {
    const auto count = static_cast<int64_t>(out.size());
    GALV_ASSERT(offset >= 0 && offset <= tokens() - count, offset, count, tokens());
    std::transform(bytes_.begin() + offset, bytes_.begin() + offset + count, out.begin(),
                   [](char byte) { return static_cast<int32_t>(static_cast<uint8_t>(byte)); });
  }
  std::string fingerprint() const override {
    return core::format("text-{}-{:016x}", tokens(), XXH3_64bits(bytes_.data(), bytes_.size()));
  }

 private:
  std::string bytes_;
};

/// What rank 0 finds and the others are told.
struct Corpus {
  std::string train;
  std::string valid;
  int64_t files = 0;
  std::vector<std::string> warnings;
};

std::string read_text_file(const std::filesystem::path& path) {
  try {
    const File file(path, File::Mode::read);
    std::string text(static_cast<size_t>(file.size()), '\0');
    file.read(0, std::as_writable_bytes(std::span(text)));
    if (!text.empty() && text.back() != '\n') text += '\n';
    return text;
  } catch (const DiskError& error) {
    throw core::UserError(core::ExitCode::data, error.what());
  }
}

/// The files of all globs, each once, in the byte order of their paths.
std::set<std::string> files_of(const std::vector<std::string>& globs, const char* key, Corpus& corpus) {
  std::set<std::string> files;
  for (const auto& glob : globs) {
    const auto found = match_files(glob);
    if (found.empty()) corpus.warnings.push_back(core::format("data.{}: \"{}\" matches no file", key, glob));
    for (const auto& path : found) files.insert(path.string());
  }
  return files;
}

/// Where validation begins in a stretch of text: the share, moved to the next line break where there is one.
size_t cut_of(std::string_view stretch, double share) {
  const auto size = static_cast<double>(stretch.size());
  const auto cut = stretch.size() - static_cast<size_t>(std::llround(share * size));
  if (cut == 0 || cut == stretch.size()) return cut;
  const auto line_end = stretch.find('\n', cut - 1);
  return line_end == std::string_view::npos || line_end + 1 == stretch.size() ? cut : line_end + 1;
}

void split_file(std::string_view text, double share, Corpus& corpus) {
  while (!text.empty()) {
    const auto stretch = text.substr(0, static_cast<size_t>(split_bytes));
    const auto cut = cut_of(stretch, share);
    corpus.train += stretch.substr(0, cut);
    corpus.valid += stretch.substr(cut);
    text.remove_prefix(stretch.size());
  }
}

Corpus read_corpus(const TextOptions& options) {
  Corpus corpus;
  const auto train = files_of(options.train, "train", corpus);
  const auto valid = files_of(options.valid, "valid", corpus);
  for (const auto& path : train) {
    if (valid.contains(path)) {
      corpus.warnings.push_back(core::format("{} is validation text, so it is not trained on", path));
      continue;
    }
    options.alive(path);
    split_file(read_text_file(path), options.valid.empty() ? options.split : 0.0, corpus);
    ++corpus.files;
  }
  for (const auto& path : valid) {
    options.alive(path);
    corpus.valid += read_text_file(path);
    ++corpus.files;
  }
  if (corpus.train.empty())
    throw core::UserError(core::ExitCode::data, core::format("data.train: no text in [\"{}\"] under {}",
                                                             core::join(options.train, "\", \""),
                                                             std::filesystem::current_path().string()));
  return corpus;
}

}  // namespace

std::unique_ptr<Dataset> make_text_dataset(std::string bytes) {
  return std::make_unique<TextDataset>(std::move(bytes));
}

TextDatasets load_text(comm::World& world, const TextOptions& options) {
  GALV_ASSERT(options.split >= 0.0 && options.split < 1.0, options.split);
  Corpus corpus;
  world.agree("read the text", [&] {
    if (world.rank() == 0) corpus = read_corpus(options);
  });
  TextDatasets out;
  out.files = std::stoll(world.broadcast(std::to_string(corpus.files), 0));
  const auto warnings = std::stoll(world.broadcast(std::to_string(corpus.warnings.size()), 0));
  corpus.warnings.resize(static_cast<size_t>(warnings));
  for (auto& warning : corpus.warnings) out.warnings.push_back(world.broadcast(std::move(warning), 0));
  out.train = make_text_dataset(world.broadcast(std::move(corpus.train), 0));
  auto valid = world.broadcast(std::move(corpus.valid), 0);
  if (!valid.empty()) out.valid = make_text_dataset(std::move(valid));
  return out;
}

}  // namespace galvatron::store
