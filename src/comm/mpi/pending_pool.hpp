#pragma once
// Messages under way, kept for the next message when they are done: where their number is known beforehand,
// none of them asks for memory.

#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/mpi/transfer.hpp"

namespace galvatron::comm::mpi {

/// Outlives the Pendings made of its slots. Used by one thread at a time.
class PendingPool {
 public:
  class Slot final : public Pending::State {
   public:
    explicit Slot(PendingPool& pool) : pool_(pool) { requests.reserve(2); }

    Requests requests;

    void wait() override { requests.wait(); }
    bool test() override { return requests.test(); }
    void release() noexcept override;

   private:
    PendingPool& pool_;
  };

  PendingPool() = default;
  PendingPool(const PendingPool&) = delete;
  PendingPool& operator=(const PendingPool&) = delete;

  /// At least `count` slots.
  void reserve(int64_t count);
  /// A slot without requests. Wrap it in a Pending before anything can throw.
  Slot& take();

 private:
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
};

}  // namespace galvatron::comm::mpi
