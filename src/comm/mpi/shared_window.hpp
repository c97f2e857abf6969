#pragma once
// Memory that all members of a group on one node see, and the one thing that they need to use it: a meeting
// point.

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace galvatron::comm::mpi {

/// One piece of shared memory per member. Making and ending it are collective; like all collective ends it
/// is left out while unwinding.
class SharedWindow {
 public:
  /// All members of `comm` are on one node. `comm` outlives it.
  SharedWindow(MPI_Comm comm, int64_t bytes_per_member);
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;
  ~SharedWindow();

  /// The piece of a member, aligned to 64 bytes.
  std::byte* piece(int member) const { return pieces_[static_cast<size_t>(member)]; }
  /// Returns when all members have called it as often as this one. What a member wrote before, all see
  /// afterwards. Messages of other communicators go on meanwhile.
  void meet();
  /// Calls of `meet` so far.
  int64_t meetings() const { return meetings_; }

 private:
  void wait_for(int member) const;

  MPI_Comm comm_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::byte*> pieces_;
  int64_t meetings_ = 0;
  int index_ = 0;
};

}  // namespace galvatron::comm::mpi
