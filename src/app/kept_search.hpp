#pragma once
// The ranks as workers of a search that can be stopped and taken up again: every answer is kept in the run
// folder, and an attempt that finds answers of the same search does not compute them again.

#include <string>
#include <vector>

#include "app/requests.hpp"
#include "comm/world_queue.hpp"

namespace galvatron::app {

class KeptSearch final : public core::WorkQueue {
 public:
  /// Collective: reads what an earlier attempt left of this search.
  KeptSearch(Job& job, Requests& requests);

  int workers() const override { return queue_.workers(); }
  int worker() const override { return queue_.worker(); }
  int64_t minimum(int64_t value) override { return queue_.minimum(value); }
  std::vector<std::string> all_gather(const std::string& text) override { return queue_.all_gather(text); }

  std::string recalled() override;
  void keep(const std::string& round) override;
  bool stop_asked() override;

  /// Writes what is not written yet. Rank 0 has a file, the others nothing to do.
  void write();
  /// Rounds that an earlier attempt left.
  int64_t known() const { return known_; }
  /// The job's, but with the memory that the earlier attempt planned with where the deck names none: what a
  /// node has to spare is never twice the same.
  const spec::ClusterSpec& cluster() const { return cluster_; }

 private:
  Job& job_;
  Requests& requests_;
  comm::WorldQueue queue_;
  std::string identity_;
  spec::ClusterSpec cluster_;
  std::vector<std::string> rounds_;
  size_t next_ = 0;
  int64_t known_ = 0;
  bool unwritten_ = false;
  double written_ = 0;  ///< seconds, of the wall clock
};

}  // namespace galvatron::app
