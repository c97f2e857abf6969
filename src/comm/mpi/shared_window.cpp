// The window's memory and its barrier: every member counts its own arrivals on a cache line of its own and
// reads those of the others, so nobody writes where somebody else does.
#include "comm/mpi/shared_window.hpp"

#include <atomic>
#include <exception>
#include <thread>

#include "comm/mpi/check.hpp"
#include "core/errors.hpp"

namespace galvatron::comm::mpi {
namespace {

constexpr int64_t line = 64;
/// Looks before the core is offered to others, and offers between two looks into the message library.
constexpr int looks = 200;
constexpr int offers = 20;

std::atomic_ref<int64_t> arrivals(std::byte* piece) {
  return std::atomic_ref<int64_t>(*reinterpret_cast<int64_t*>(piece - line));
}

}  // namespace

SharedWindow::SharedWindow(MPI_Comm comm, int64_t bytes_per_member) : comm_(comm) {
  int size = 0;
  GALV_MPI(MPI_Comm_size(comm, &size));
  GALV_MPI(MPI_Comm_rank(comm, &index_));
  void* own = nullptr;
  const auto bytes = (bytes_per_member + line - 1) / line * line + 2 * line;
  GALV_MPI(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, comm, &own, &window_));
  GALV_MPI(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN));
  for (int member = 0; member < size; ++member) {
    MPI_Aint there = 0;
    int unit = 0;
    void* start = nullptr;
    GALV_MPI(MPI_Win_shared_query(window_, member, &there, &unit, &start));
    // The same offset on every member: where memory begins on the page may differ between processes only by
    // whole pages.
    const auto address = reinterpret_cast<uintptr_t>(start);
    const auto aligned = (address + line - 1) / line * line;
    pieces_.push_back(reinterpret_cast<std::byte*>(aligned) + line);
  }
  arrivals(pieces_[static_cast<size_t>(index_)]).store(0, std::memory_order_release);
  GALV_MPI(MPI_Barrier(comm));
}

SharedWindow::~SharedWindow() {
  if (window_ == MPI_WIN_NULL || std::uncaught_exceptions() > 0) return;
  int finalized = 0;
  if (MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized) MPI_Win_free(&window_);
}

void SharedWindow::meet() {
  ++meetings_;
  arrivals(piece(index_)).store(meetings_, std::memory_order_release);
  for (int member = 0; member < static_cast<int>(pieces_.size()); ++member)
    if (member != index_) wait_for(member);
}

// A member that is late may be waiting for a message of ours that needs our help to leave: while we wait, the
// message library is looked into now and then.
void SharedWindow::wait_for(int member) const {
  const auto arrived = arrivals(piece(member));
  for (int64_t look = 0; arrived.load(std::memory_order_acquire) < meetings_; ++look) {
    if (look < looks) continue;
    if (look % offers == 0) {
      int found = 0;
      GALV_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE));
    }
    std::this_thread::yield();
  }
}

}  // namespace galvatron::comm::mpi
