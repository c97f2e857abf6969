#pragma once
// A text file in the run folder to which ranks in trouble add a line each. Whoever creates it speaks for the
// job; that works without any communication, which in this situation is not to be had.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace galvatron::comm {

enum class Claim { first, later };

class ReportFile {
 public:
  explicit ReportFile(std::filesystem::path path) : path_(std::move(path)) {}

  /// Adds one entry ("rank r on host h: text"; further lines are indented). `first` for the rank that created
  /// the file. A file that cannot be written makes every rank `first`: better several messages than none.
  Claim add(int rank, const std::string& host, const std::string& text) const;

  /// All entries, by rank; of one rank, in the order in which they came.
  std::vector<std::string> entries() const;

  /// Waits until `count` entries are there, `seconds` at most.
  void wait_for(int count, double seconds) const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace galvatron::comm
