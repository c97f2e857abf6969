// Files are told apart by path, size and time of the last change, as build tools do: reading them all to see
// whether they have changed would cost what an index is to save.
#include "store/text_sources.hpp"

#include <sys/stat.h>
#include <xxhash.h>

#include <cerrno>
#include <cmath>
#include <set>
#include <system_error>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/file.hpp"

namespace galvatron::store {
namespace {

/// Goes into every fingerprint: another rule of dividing gives another text.
constexpr const char* rule = "text 1";

/// The files of all globs, each once, in the byte order of their paths.
std::set<std::string> files_of(const std::vector<std::string>& globs, const char* key,
                               std::vector<std::string>& warnings) {
  std::set<std::string> files;
  for (const auto& glob : globs) {
    const auto found = match_files(glob);
    if (found.empty()) warnings.push_back(core::format("data.{}: \"{}\" matches no file", key, glob));
    for (const auto& path : found) files.insert(path.string());
  }
  return files;
}

TextFile looked_at(const std::string& path, double share) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw core::UserError(core::ExitCode::data,
                          core::format("cannot read {}: {}", path, std::generic_category().message(errno)));
  const auto changed = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return {path, status.st_size, changed, share};
}

uint64_t hash_of_text(const std::string& text) {
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace

int64_t TextSources::bytes() const {
  int64_t sum = 0;
  for (const auto& file : files) sum += file.bytes;
  return sum;
}

TextSources find_text(const TextOptions& options) {
  TextSources sources;
  const auto train = files_of(options.train, "train", sources.warnings);
  const auto valid = files_of(options.valid, "valid", sources.warnings);
  for (const auto& path : train) {
    if (valid.contains(path))
      sources.warnings.push_back(core::format("{} is validation text, so it is not trained on", path));
    else
      sources.files.push_back(looked_at(path, options.valid.empty() ? options.split : 0.0));
  }
  if (sources.bytes() == 0)
    throw core::UserError(core::ExitCode::data, core::format("data.train: no text in [\"{}\"] under {}",
                                                             core::join(options.train, "\", \""),
                                                             std::filesystem::current_path().string()));
  for (const auto& path : valid) sources.files.push_back(looked_at(path, 1.0));
  return sources;
}

uint64_t fingerprint_of(const TextSources& sources) {
  std::string text = rule;
  for (const auto& file : sources.files)
    text += core::format("\n{} {} {} {:a}", file.path, file.bytes, file.changed_ns, file.share);
  return hash_of_text(text);
}

uint64_t name_of(const TextSources& sources) {
  std::string text = rule;
  for (const auto& file : sources.files) text += core::format("\n{} {:a}", file.path, file.share);
  return hash_of_text(text);
}

size_t validation_of(std::string_view stretch, double share) {
  const auto size = static_cast<double>(stretch.size());
  const auto cut = stretch.size() - static_cast<size_t>(std::llround(share * size));
  if (cut == 0 || cut == stretch.size()) return cut;
  const auto line_end = stretch.find('\n', cut - 1);
  return line_end == std::string_view::npos || line_end + 1 == stretch.size() ? cut : line_end + 1;
}

void read_as_data(const std::function<void()>& body) {
  try {
    body();
  } catch (const DiskError& error) {
    throw core::UserError(core::ExitCode::data, error.what());
  }
}

}  // namespace galvatron::store
