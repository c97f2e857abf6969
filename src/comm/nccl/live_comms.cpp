// A list behind a lock: the watchdog's thread may abort while the main thread is anywhere.
#include "comm/nccl/live_comms.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "comm/nccl/check.hpp"

namespace galvatron::comm::nccl {

void LiveComms::add(ncclComm_t comm) {
  const std::lock_guard lock(mutex_);
  comms_.push_back(comm);
}

bool LiveComms::remove(ncclComm_t comm) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(comms_.begin(), comms_.end(), comm);
  if (found == comms_.end()) return false;
  comms_.erase(found);
  return true;
}

void LiveComms::poll() {
  const std::lock_guard lock(mutex_);
  for (const auto comm : comms_) {
    ncclResult_t state = ncclSuccess;
    GALV_NCCL(ncclCommGetAsyncError(comm, &state));
    check(state, "an NCCL operation under way", std::source_location::current());
  }
}

void LiveComms::abort() noexcept {
  constexpr auto patience = std::chrono::seconds(1);
  try {
    // The thread may outlive this call, so it owns what it needs.
    auto comms = std::make_shared<std::vector<ncclComm_t>>();
    {
      const std::lock_guard lock(mutex_);
      std::swap(*comms, comms_);
    }
    if (comms->empty()) return;
    auto done = std::make_shared<std::promise<void>>();
    auto over = done->get_future();
    std::thread([comms, done] {
      for (const auto comm : *comms) ncclCommAbort(comm);  // its failure changes nothing: MPI_Abort is next
      done->set_value();
    }).detach();
    over.wait_for(patience);
  } catch (const std::exception&) {
    // No thread to be had: MPI_Abort alone must do.
  }
}

}  // namespace galvatron::comm::nccl
