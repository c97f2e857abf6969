#pragma once
// How several workers share one search without knowing who they are: each deals the tasks to itself by number
// and between rounds they exchange the best bound and their results. The room that talks between ranks has an
// implementation of its own; this one is for a worker that is alone.

#include <cstdint>
#include <string>
#include <vector>

namespace galvatron::core {

/// All workers make the same calls in the same order.
class WorkQueue {
 public:
  virtual ~WorkQueue() = default;

  virtual int workers() const = 0;
  /// This worker's number, 0 … workers − 1.
  virtual int worker() const = 0;
  /// The least of all workers' values.
  virtual int64_t minimum(int64_t value) = 0;
  /// One text per worker, on every worker.
  virtual std::vector<std::string> all_gather(const std::string& text) = 0;

  /// What `keep` was given at this place of the same work when it was begun before, the same text on every
  /// worker; empty where it did not come so far. Asked once before each `keep`.
  virtual std::string recalled() { return {}; }
  /// Remembers a text that all workers know, for another start.
  virtual void keep(const std::string& /*text*/) {}
  /// Whether somebody wants this worker to stop. Local.
  virtual bool stop_asked() { return false; }
};

/// One worker.
class LocalQueue final : public WorkQueue {
 public:
  int workers() const override { return 1; }
  int worker() const override { return 0; }
  int64_t minimum(int64_t value) override { return value; }
  std::vector<std::string> all_gather(const std::string& text) override { return {text}; }
};

}  // namespace galvatron::core
