// Text files become one row of bytes for training and one for validation, the same on every rank.
#include "store/text_dataset.hpp"

#include <xxhash.h>

#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/file.hpp"
#include "store/text_index_together.hpp"
#include "store/text_sources.hpp"

namespace galvatron::store {
namespace {

class TextDataset final : public Dataset {
 public:
  TextDataset(std::shared_ptr<const void> owner, std::span<const std::byte> bytes, uint64_t hash)
      : owner_(std::move(owner)), bytes_(bytes), hash_(hash) {}

  int64_t tokens() const override { return static_cast<int64_t>(bytes_.size()); }
  int64_t vocabulary() const override { return 256; }
  void read(int64_t offset, std::span<int32_t> out) const override {
    const auto count = static_cast<int64_t>(out.size());
    GALV_ASSERT(offset >= 0 && offset <= tokens() - count, offset, count, tokens());
    std::transform(bytes_.begin() + offset, bytes_.begin() + offset + count, out.begin(),
                   [](std::byte byte) { return std::to_integer<int32_t>(byte); });
  }
  std::string fingerprint() const override { return core::format("text-{}-{:016x}", tokens(), hash_); }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
  uint64_t hash_;
};

/// What rank 0 reads and the others are told.
struct Corpus {
  std::string train;
  std::string valid;
};

std::string read_text(const TextFile& source) {
  std::string text;
  read_as_data([&] {
    const File file(source.path, File::Mode::read);
    text.resize(static_cast<size_t>(file.size()));
    file.read(0, std::as_writable_bytes(std::span(text)));
  });
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

void split_text(std::string_view text, double share, Corpus& corpus) {
  while (!text.empty()) {
    const auto stretch = text.substr(0, static_cast<size_t>(split_bytes));
    const auto cut = validation_of(stretch, share);
    corpus.train += stretch.substr(0, cut);
    corpus.valid += stretch.substr(cut);
    text.remove_prefix(stretch.size());
  }
}

Corpus read_corpus(const TextSources& sources, const TextOptions& options) {
  Corpus corpus;
  for (const auto& source : sources.files) {
    options.alive(source.path);
    split_text(read_text(source), source.share, corpus);
  }
  if (corpus.train.empty())
    throw core::UserError(core::ExitCode::data, "data.train: no text is left to train on");
  return corpus;
}

/// Rank 0 reads for all.
void read_for_all(comm::World& world, const TextSources& sources, const TextOptions& options,
                  TextDatasets& out) {
  Corpus corpus;
  world.agree("read the text", [&] {
    if (world.rank() == 0) corpus = read_corpus(sources, options);
  });
  out.train = make_text_dataset(world.broadcast(std::move(corpus.train), 0));
  auto valid = world.broadcast(std::move(corpus.valid), 0);
  if (!valid.empty()) out.valid = make_text_dataset(std::move(valid));
}

}  // namespace

std::unique_ptr<Dataset> make_text_dataset(std::shared_ptr<const void> owner,
                                           std::span<const std::byte> bytes, uint64_t hash) {
  return std::make_unique<TextDataset>(std::move(owner), bytes, hash);
}

std::unique_ptr<Dataset> make_text_dataset(std::string bytes) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return make_text_dataset(owner, std::as_bytes(std::span(*owner)),
                           XXH3_64bits(owner->data(), owner->size()));
}

TextDatasets load_text(comm::World& world, const TextOptions& options) {
  GALV_ASSERT(options.split >= 0.0 && options.split < 1.0, options.split);
  TextSources sources;
  world.agree("look for the text", [&] {
    if (world.rank() == 0) sources = find_text(options);
  });
  TextDatasets out;
  out.files = std::stoll(world.broadcast(std::to_string(sources.files.size()), 0));
  const auto bytes = std::stoll(world.broadcast(std::to_string(sources.bytes()), 0));
  const auto warnings = std::stoll(world.broadcast(std::to_string(sources.warnings.size()), 0));
  sources.warnings.resize(static_cast<size_t>(warnings));
  for (auto& warning : sources.warnings) out.warnings.push_back(world.broadcast(std::move(warning), 0));
  if (bytes < options.index_from || !map_index(world, sources, options, out))
    read_for_all(world, sources, options, out);
  return out;
}

}  // namespace galvatron::store
