// HDF5 files of this program carry their kind in their first bytes. The three kinds of TOML file differ in
// their keys: a plan has keys outside any section, a description of a cluster has sections that no deck has.
#include "app/file_kind.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "app/alone.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "deck/raw.hpp"
#include "store/sealed_file.hpp"

namespace galvatron::app {
namespace {

/// Larger than any text that a person edits.
constexpr std::uintmax_t largest_text_bytes = std::uintmax_t{16} << 20;

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw core::UserError(
      core::format("{}: {}; show explains decks, plans, descriptions of clusters (TOML), profiles and "
                   "checkpoints (HDF5)",
                   file, why));
}

bool any_of(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

FileKind kind_of_text(const std::string& file, const std::string& text) {
  if (text.find('\0') != std::string::npos) refuse(file, "is not text and no HDF5 file of this program");
  // JSON is the strategy file of Galvatron 3.0, a plan in other words.
  if (file.ends_with(".json") && text.find('{') != std::string::npos) return FileKind::plan;
  const auto source = deck::read_toml(text);
  const std::vector<std::string> plan_keys = {"world", "microbatches", "stages", "layer"};
  const std::vector<std::string> cluster_sections = {"compute", "same_node", "across"};
  for (const auto& entry : source.entries) {
    if (entry.section.empty() && any_of(plan_keys, entry.key)) return FileKind::plan;
    if (any_of(cluster_sections, entry.section)) return FileKind::cluster;
  }
  // A deck with mistakes is still a deck: its own reader says what they are.
  if (file.ends_with(".toml") || (source.problems.empty() && !source.entries.empty())) return FileKind::deck;
  refuse(file, "is no TOML file");
}

}  // namespace

FileKind kind_of_file(const std::string& file) {
  std::error_code code;
  if (std::filesystem::exists(std::filesystem::path(file) / "deck.toml", code)) return FileKind::run;
  if (std::filesystem::is_regular_file(file, code)) {
    if (const auto kind = store::sealed_kind(file))
      return *kind == store::SealedKind::profile ? FileKind::profile : FileKind::checkpoint;
    if (file.ends_with(".h5") || file.ends_with(".h5.tmp"))
      refuse(file, "is no HDF5 file of this program, or one whose writing never finished");
    if (std::filesystem::file_size(file, code) > largest_text_bytes) refuse(file, "is too large for a text");
  }
  return kind_of_text(file, read_text(file));
}

}  // namespace galvatron::app
