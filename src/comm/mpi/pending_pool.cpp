// Taking and giving back of message slots.
#include "comm/mpi/pending_pool.hpp"

namespace galvatron::comm::mpi {

void PendingPool::reserve(int64_t count) {
  while (static_cast<int64_t>(slots_.size()) < count) {
    slots_.push_back(std::make_unique<Slot>(*this));
    free_.reserve(slots_.size());  // giving back cannot fail
    free_.push_back(slots_.back().get());
  }
}

PendingPool::Slot& PendingPool::take() {
  if (free_.empty()) reserve(static_cast<int64_t>(slots_.size()) + 1);
  auto* slot = free_.back();
  free_.pop_back();
  return *slot;
}

// A message that was left alone while unwinding may still arrive: its slot is not used again.
void PendingPool::Slot::release() noexcept {
  if (requests.empty()) pool_.free_.push_back(this);
}

}  // namespace galvatron::comm::mpi
