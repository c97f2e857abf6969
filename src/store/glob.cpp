// Globs over std::filesystem: small, sorted, the same on every machine.
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/text_dataset.hpp"

namespace galvatron::store {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> components(const std::string& glob) {
  std::vector<std::string> parts;
  for (const auto& part : fs::path(glob).relative_path()) {
    if (!part.empty() && part != ".") parts.push_back(part.string());
  }
  return parts;
}

bool has_wildcard(const std::string& part) {
  return part.find_first_of("*?[") != std::string::npos;
}

std::vector<fs::directory_entry> entries(const fs::path& folder) {
  std::vector<fs::directory_entry> found;
  std::error_code code;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, code), end; !code && entry != end;
       entry.increment(code))
    found.push_back(*entry);
  if (code)
    throw core::UserError(core::ExitCode::data,
                          core::format("cannot read folder {}: {}", folder.string(), code.message()));
  return found;
}

class Walk {
 public:
  explicit Walk(std::vector<std::string> parts) : parts_(std::move(parts)) {}

  void at(const fs::path& folder, size_t part) {
    std::error_code code;
    if (part == parts_.size()) return;
    const auto& pattern = parts_[part];
    if (pattern == "**") return below(folder, part);
    if (!has_wildcard(pattern)) return visit(folder / pattern, part);
    if (!folder.empty() && !fs::is_directory(folder, code)) return;
    for (const auto& entry : entries(folder)) {
      const auto name = entry.path().filename();
      if (::fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) == 0) visit(folder / name, part);
    }
  }

  const std::set<std::string>& found() const { return found_; }

 private:
  /// `**`: this folder, and every folder below it.
  void below(const fs::path& folder, size_t part) {
    std::error_code code;
    if (!folder.empty() && !fs::is_directory(folder, code)) return;
    // A `**` at the end stands for all files below.
    if (part + 1 == parts_.size()) parts_.push_back("*");
    at(folder, part + 1);
    for (const auto& entry : entries(folder)) {
      const auto name = entry.path().filename();
      if (name.string().starts_with('.')) continue;
      if (entry.is_directory(code) && !entry.is_symlink(code)) below(folder / name, part);
    }
  }

  void visit(const fs::path& path, size_t part) {
    std::error_code code;
    if (part + 1 < parts_.size())
      at(path, part + 1);
    else if (fs::is_regular_file(path, code))
      found_.insert(path.lexically_normal().string());
  }

  std::vector<std::string> parts_;
  std::set<std::string> found_;  // sorted by bytes, and each file once however many ways lead to it
};

}  // namespace

std::vector<fs::path> match_files(const std::string& glob) {
  Walk walk(components(glob));
  walk.at(fs::path(glob).root_path(), 0);
  return {walk.found().begin(), walk.found().end()};
}

}  // namespace galvatron::store
