#pragma once
// Every NCCL communicator of this process that is alive: asked for errors while the host waits, and aborted
// when the job ends in failure.

#include <nccl.h>

#include <mutex>
#include <vector>

namespace galvatron::comm::nccl {

class LiveComms {
 public:
  void add(ncclComm_t comm);
  /// False when it was aborted meanwhile and must not be touched.
  bool remove(ncclComm_t comm);

  /// Throws what NCCL says of the first communicator in trouble. Only from the thread that uses them.
  void poll();

  /// From any thread. Stops the kernels and threads of all communicators and forgets them. Gives up waiting
  /// for NCCL after a second: the process is about to end anyway.
  void abort() noexcept;

 private:
  std::mutex mutex_;
  std::vector<ncclComm_t> comms_;
};

}  // namespace galvatron::comm::nccl
