#pragma once
// One rank's two queues of work against the clock: what it computes, and what it sends and receives
// meanwhile. While both are busy each slows the other down, by factors that were measured.

#include <cstddef>
#include <span>
#include <vector>

namespace galvatron::cost {

/// Communication that may run beside compute. Factors: how much longer compute, and it, takes meanwhile.
struct Talk {
  double seconds = 0;  ///< alone
  double compute_factor = 1, talk_factor = 1;
};

class TwoStreams {
 public:
  /// Puts communication into its queue; it begins when what is before it has ended. Its number.
  size_t start(const Talk& talk);
  /// Computes for so many seconds, alone; longer where communication is under way.
  void compute(double seconds);
  /// Waits until a communication has ended.
  void wait(size_t number);

  double now() const { return now_; }
  double slowed() const { return slowed_; }  ///< seconds that compute took longer
  double waited() const { return waited_; }

 private:
  struct Open {
    Talk talk;
    double left = 0;  ///< seconds alone
  };

  std::vector<Open> queue_;
  size_t first_ = 0;  ///< of the queue that has not ended
  double now_ = 0, slowed_ = 0, waited_ = 0;
};

/// A stretch of compute with communication beside it, all of which is over at its end.
TwoStreams beside(double compute_seconds, std::span<const Talk> talks);

}  // namespace galvatron::cost
