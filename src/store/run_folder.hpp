#pragma once
// The folder of one run: who may use it, and where everything in it lies. Rank 0 alone holds it; other ranks
// make their paths with RunPaths.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace galvatron::store {

/// Names in the run folder; docs/files.md says what each holds.
struct RunPaths {
  std::filesystem::path root;

  std::filesystem::path deck() const { return root / "deck.toml"; }
  std::filesystem::path profile() const { return root / "profile.h5"; }
  std::filesystem::path plan() const { return root / "plan.toml"; }
  std::filesystem::path metrics() const { return root / "metrics.jsonl"; }
  std::filesystem::path events() const { return root / "events.jsonl"; }
  std::filesystem::path search() const { return root / "search.txt"; }
  std::filesystem::path kept_search() const { return root / "search.kept"; }
  std::filesystem::path checkpoints() const { return root / "checkpoints"; }
  std::filesystem::path trace() const { return root / "trace.json"; }
  std::filesystem::path report() const { return root / "report.html"; }
  std::filesystem::path failure() const { return root / "failure.txt"; }
  std::filesystem::path lock() const { return root / "lock"; }
  std::filesystem::path run_id() const { return root / "run-id"; }
  std::filesystem::path log(int rank) const {
    return root / "log" / ("rank-" + std::to_string(rank) + ".log");
  }
};

/// Who asks for the folder. `job` is the batch system's job id, empty outside one.
struct JobIdentity {
  std::string job;
  std::string host;
  int64_t pid = 0;

  bool operator==(const JobIdentity&) const = default;
};

/// Seconds after which a lock without a heartbeat is stale.
constexpr double lock_stale_seconds = 120.0;

/// A locked run folder. The lock's heartbeat is the modification time of the lock file, renewed by a thread
/// of this object, and its age is taken against the file system's own clock.
class RunFolder {
 public:
  enum class Contents { keep, renew };

  /// Creates the folder when it is not there and takes its lock. Throws UserError (environment, exit code 3)
  /// when the folder belongs to another user or another live job holds it. A lock of the same job, of a dead
  /// process on this host, or without a heartbeat for `lock_stale_seconds` is taken over; notices() says so.
  /// failure.txt and log/ of an earlier attempt are moved aside. `renew` gives the run a new id, so that
  /// files already there are not its own.
  RunFolder(std::filesystem::path root, const JobIdentity& who, Contents contents = Contents::keep);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  /// Gives the lock back when it is still this object's.
  ~RunFolder();

  const RunPaths& paths() const { return paths_; }
  /// The same in every attempt of a run.
  const std::string& id() const { return id_; }
  /// What a reader of the log should know: a lock taken over, files moved aside.
  const std::vector<std::string>& notices() const { return notices_; }
  /// False once another job has taken the lock over; the run should stop then.
  bool still_ours() const;
  /// Renews the heartbeat, or notices that the lock is lost. A thread of this object does it now and then.
  void beat();
  /// What the last heartbeat saw; asks no file.
  bool lost() const { return lost_.load(); }

 private:
  void take_lock(const JobIdentity& who);
  void move_aside();
  void read_id(Contents contents);

  RunPaths paths_;
  std::string lock_text_;
  std::string id_;
  std::vector<std::string> notices_;
  std::atomic<bool> lost_ = false;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread heart_;  // last: stops before what it uses goes
};

}  // namespace galvatron::store
