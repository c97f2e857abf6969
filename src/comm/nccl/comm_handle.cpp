// Life and death of an NCCL communicator.
#include "comm/nccl/comm_handle.hpp"

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "comm/nccl/check.hpp"

namespace galvatron::comm::nccl {
namespace {

constexpr auto nap = std::chrono::microseconds(50);

/// Asks until the state is no longer "in progress" and returns it.
template <class Meanwhile>
ncclResult_t settled_state(ncclComm_t comm, Meanwhile meanwhile) {
  ncclResult_t state = ncclInProgress;
  for (int questions = 0;; ++questions) {
    GALV_NCCL(ncclCommGetAsyncError(comm, &state));
    if (state != ncclInProgress) return state;
    meanwhile();
    if (questions < 100)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(nap);
  }
}

ncclConfig_t config_of(const std::string& name) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.commName = name.c_str();
  return config;
}

}  // namespace

CommHandle::CommHandle(LiveComms& live, const ncclUniqueId& id, int rank, int size, const std::string& name)
    : live_(&live) {
  auto config = config_of(name);
  GALV_NCCL(ncclCommInitRankConfig(&comm_, size, id, rank, &config));
  live.add(comm_);
  settle();
}

CommHandle::CommHandle(LiveComms& live, const CommHandle& parent, int rank, Share share,
                       const std::string& name)
    : live_(&live) {
  auto config = config_of(name);
  config.splitShare = share == Share::yes ? 1 : 0;
  GALV_NCCL(ncclCommSplit(parent.get(), 0, rank, &comm_, &config));
  parent.settle();  // before that the new one is not to be touched
  live.add(comm_);
  settle();
}

CommHandle::CommHandle(CommHandle&& other) noexcept
    : live_(other.live_),
      comm_(std::exchange(other.comm_, nullptr)),
      ending_(std::exchange(other.ending_, false)) {}

CommHandle& CommHandle::operator=(CommHandle&& other) noexcept {
  if (this != &other) {
    release();
    live_ = other.live_;
    comm_ = std::exchange(other.comm_, nullptr);
    ending_ = std::exchange(other.ending_, false);
  }
  return *this;
}

CommHandle::~CommHandle() {
  release();
}

void CommHandle::settle() const {
  check(settled_state(comm_, [this] { live_->poll(); }), "an NCCL operation under way",
        std::source_location::current());
}

void CommHandle::begin_end() noexcept {
  if (comm_ == nullptr || ending_ || std::uncaught_exceptions() > 0) return;
  ending_ = ncclCommFinalize(comm_) != ncclInvalidArgument;  // an error shows again at the destruction
}

void CommHandle::release() noexcept {
  if (comm_ == nullptr || std::uncaught_exceptions() > 0) return;
  const auto comm = std::exchange(comm_, nullptr);
  if (!live_->remove(comm)) return;  // aborted
  try {
    if (!ending_) GALV_NCCL(ncclCommFinalize(comm));
    settled_state(comm, [] {});
    GALV_NCCL(ncclCommDestroy(comm));
  } catch (const std::exception&) {
    // A destructor cannot report it; the communicator is lost, and the job ends soon after.
  }
}

}  // namespace galvatron::comm::nccl
