// Names of checkpoint files and what they decide: nothing but the file name's step orders them.
#include "store/checkpoint_folder.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/checkpoint.hpp"
#include "store/checkpoint_verify.hpp"

namespace galvatron::store {
namespace {

constexpr size_t most_digits = 15;  // steps fit a double exactly, and no parse overflows

/// The step of "step-000100.h5"; nothing for any other name.
std::optional<int64_t> step_of(const std::string& name, std::string_view ending) {
  if (!name.starts_with("step-") || !name.ends_with(ending)) return {};
  const auto digits = name.substr(5, name.size() - std::min(name.size(), 5 + ending.size()));
  if (digits.empty() || digits.size() > most_digits) return {};
  if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) return {};
  return std::stoll(digits);
}

std::vector<std::filesystem::path> newest_first(const std::filesystem::path& folder,
                                                std::string_view ending) {
  std::vector<std::pair<int64_t, std::filesystem::path>> found;
  std::error_code code;
  for (std::filesystem::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    if (const auto step = step_of(entry->path().filename().string(), ending))
      found.emplace_back(*step, entry->path());
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::filesystem::path> paths;
  for (auto& [step, path] : found) paths.push_back(std::move(path));
  return paths;
}

std::string joined(const std::vector<std::filesystem::path>& paths) {
  std::string text;
  for (const auto& path : paths) text += path.filename().string() + "\n";
  return text;
}

/// The first rank's complaint about the file, empty when all of it is whole. Collective.
std::string complaint(comm::World& world, const std::filesystem::path& path) {
  std::string mine;
  try {
    verify_share(path, world.rank(), world.size());
  } catch (const core::Error& error) {
    mine = error.what();
  }
  for (const auto& text : world.all_gather(mine)) {
    if (!text.empty()) return text;
  }
  return {};
}

}  // namespace

std::filesystem::path CheckpointFolder::file_of(int64_t step) const {
  return folder_ / core::format("step-{:06d}.h5", step);
}

std::vector<std::filesystem::path> CheckpointFolder::list() const {
  return newest_first(folder_, ".h5");
}

FoundCheckpoint CheckpointFolder::newest_valid(comm::World& world) const {
  const auto names = world.broadcast(world.rank() == 0 ? joined(list()) : std::string(), 0);
  FoundCheckpoint found;
  for (size_t at = 0; at < names.size() && !found.found();) {
    const auto end = names.find('\n', at);
    const auto path = folder_ / names.substr(at, end - at);
    at = end + 1;
    auto text = complaint(world, path);
    if (text.empty())
      found.path = path;
    else
      found.rejected.push_back(std::move(text));
  }
  return found;
}

void CheckpointFolder::remove_unfinished() const {
  std::error_code ignored;
  for (const auto& path : newest_first(folder_, ".h5.tmp")) std::filesystem::remove(path, ignored);
}

std::vector<std::filesystem::path> CheckpointFolder::prune(int64_t keep, const std::string& run,
                                                           int64_t keep_every) const {
  std::vector<std::filesystem::path> removed;
  int64_t ours = 0;
  for (const auto& path : list()) {
    try {
      if (read_state(path).run != run) continue;
    } catch (const core::Error&) {
      continue;  // whose it is cannot be said, so it stays
    }
    if (++ours <= keep) continue;
    const auto step = step_of(path.filename().string(), ".h5");
    if (keep_every > 0 && step && *step % keep_every == 0) continue;
    std::error_code code;
    if (std::filesystem::remove(path, code)) removed.push_back(path);
  }
  return removed;
}

}  // namespace galvatron::store
