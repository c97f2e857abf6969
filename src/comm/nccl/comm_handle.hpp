#pragma once
// The only owner of an NCCL communicator. All are non-blocking: NCCL answers "in progress" and is asked until
// it has settled, so that no call of it can hang beyond the watchdog's reach.

#include <nccl.h>

#include <functional>
#include <string>

#include "comm/nccl/live_comms.hpp"

namespace galvatron::comm::nccl {

/// Whether a communicator split off another one uses its buffers: only where the two never run at the same
/// time.
enum class Share { no, yes };

/// Move-only. Ending is collective, so it is left out while unwinding and after an abort.
class CommHandle {
 public:
  CommHandle() = default;
  /// Collective over `size` ranks that have the same `id`; on the calling thread's device. `live` outlives
  /// it.
  CommHandle(LiveComms& live, const ncclUniqueId& id, int rank, int size, const std::string& name);
  /// Collective over the ranks of `parent`, for the same ranks in the same order.
  CommHandle(LiveComms& live, const CommHandle& parent, int rank, Share share, const std::string& name);
  CommHandle(CommHandle&& other) noexcept;
  CommHandle& operator=(CommHandle&& other) noexcept;
  ~CommHandle();

  ncclComm_t get() const { return comm_; }
  explicit operator bool() const { return comm_ != nullptr; }

  /// The host waits until the last call on it is settled. Throws what NCCL says, and what other communicators
  /// have to say meanwhile.
  void settle() const;

  /// First half of the end: tells NCCL to finish, without waiting for peers. All handles of a group do that
  /// before the first one is destroyed, so that the order of their destruction does not matter.
  void begin_end() noexcept;

 private:
  void release() noexcept;

  LiveComms* live_ = nullptr;
  ncclComm_t comm_ = nullptr;
  bool ending_ = false;
};

}  // namespace galvatron::comm::nccl
