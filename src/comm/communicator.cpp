// The end of a message under way: what must happen when its owner forgets it or fails.
#include "comm/communicator.hpp"

#include <exception>
#include <utility>

namespace galvatron::comm {

Pending& Pending::operator=(Pending&& other) noexcept {
  if (this != &other) {
    finish();
    state_ = std::move(other.state_);
  }
  return *this;
}

Pending::~Pending() {
  finish();
}

// While unwinding, the peer may never come: waiting would turn an error into a hang.
void Pending::finish() noexcept {
  if (!state_ || std::uncaught_exceptions() > 0) return;
  try {
    state_->wait();
  } catch (const std::exception&) {
    // A destructor cannot report it; the next call on the communicator meets the same error.
  }
  state_.reset();
}

void Pending::wait() {
  if (!state_) return;
  state_->wait();
  state_.reset();
}

bool Pending::test() {
  if (!state_) return true;
  if (!state_->test()) return false;
  state_.reset();
  return true;
}

}  // namespace galvatron::comm
