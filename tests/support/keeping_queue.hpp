#pragma once
// A work queue that keeps what it is given and asks to stop after so many jobs: an attempt that is cut short.

#include <string>
#include <vector>

#include "core/work_queue.hpp"

namespace galvatron::test {

/// One worker's attempt over another queue. `kept` outlives it: the next attempt begins with it.
class KeepingQueue final : public core::WorkQueue {
 public:
  static constexpr int never = -1;

  /// Asks to stop once it was asked `stop_after` times.
  KeepingQueue(core::WorkQueue& inner, std::vector<std::string>& kept, int stop_after)
      : inner_(inner), kept_(kept), left_(stop_after) {}

  int workers() const override { return inner_.workers(); }
  int worker() const override { return inner_.worker(); }
  int64_t minimum(int64_t value) override { return inner_.minimum(value); }
  std::vector<std::string> all_gather(const std::string& text) override { return inner_.all_gather(text); }
  std::string recalled() override { return next_ < kept_.size() ? kept_[next_] : std::string(); }
  void keep(const std::string& text) override {
    if (next_ == kept_.size()) kept_.emplace_back();
    kept_[next_++] = text;
  }
  bool stop_asked() override {
    if (left_ == never) return false;
    if (left_ > 0) --left_;
    return left_ == 0;
  }

 private:
  core::WorkQueue& inner_;
  std::vector<std::string>& kept_;
  int left_;
  size_t next_ = 0;
};

}  // namespace galvatron::test
