#pragma once
// The search's work queue over all ranks.

#include "comm/world.hpp"
#include "core/work_queue.hpp"

namespace galvatron::comm {

/// Every rank is a worker. The world outlives it.
class WorldQueue final : public core::WorkQueue {
 public:
  explicit WorldQueue(World& world) : world_(world) {}

  int workers() const override { return world_.size(); }
  int worker() const override { return world_.rank(); }
  int64_t minimum(int64_t value) override {
    auto complement = ~value;  // reverses the order without overflow
    world_.all_reduce(std::span(&complement, 1), ReduceOp::max);
    return ~complement;
  }
  std::vector<std::string> all_gather(const std::string& text) override { return world_.all_gather(text); }

 private:
  World& world_;
};

}  // namespace galvatron::comm
