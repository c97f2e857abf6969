#pragma once
// The folder that holds a run's checkpoints: their names, which one a resume should take, which ones may go.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "comm/world.hpp"

namespace galvatron::store {

/// The newest file that is whole. `path` is empty when there is none; `rejected` says, newest first, which
/// newer files were passed over and why.
struct FoundCheckpoint {
  std::filesystem::path path;
  std::vector<std::string> rejected;

  bool found() const { return !path.empty(); }
};

class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& path() const { return folder_; }

  /// "step-000100.h5" in this folder.
  std::filesystem::path file_of(int64_t step) const;

  /// Local: the finished checkpoints, newest first; none when the folder does not exist.
  std::vector<std::filesystem::path> list() const;

  /// Collective: rank 0 lists, the ranks verify the newest file together, then the one before it, and so on.
  FoundCheckpoint newest_valid(comm::World& world) const;

  /// Local: deletes what killed saves left behind (step-*.h5.tmp). Only for the holder of the run's lock.
  void remove_unfinished() const;

  /// Local: deletes all but the `keep` newest of the files whose state says that `run` wrote them, but none
  /// of a step that `keep_every` divides (0: no such step); returns them. Other runs' files are neither
  /// counted nor touched.
  std::vector<std::filesystem::path> prune(int64_t keep, const std::string& run,
                                           int64_t keep_every = 0) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace galvatron::store
