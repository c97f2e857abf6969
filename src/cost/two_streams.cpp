// Events are the ends of communications; between two of them both queues run at constant rates.
#include "cost/two_streams.hpp"

#include <algorithm>

namespace galvatron::cost {
namespace {

/// A core that has two things to do does one of them at any moment, so together they make at least the
/// progress of one alone. Factors measured where many ranks share few cores may say less: bursts of seconds
/// waited for whoever had the core. Both are then taken down alike, to the point where nothing is gained and
/// nothing lost.
Talk bounded(Talk talk) {
  const double progress = 1 / talk.compute_factor + 1 / talk.talk_factor;
  if (progress >= 1) return talk;
  talk.compute_factor *= progress;
  talk.talk_factor *= progress;
  return talk;
}

}  // namespace

size_t TwoStreams::start(const Talk& talk) {
  queue_.push_back({bounded(talk), talk.seconds});
  return queue_.size() - 1;
}

void TwoStreams::compute(double seconds) {
  double left = seconds;
  while (left > 0 && first_ < queue_.size()) {
    auto& [talk, rest] = queue_[first_];
    const double until_done = rest * talk.talk_factor, until_computed = left * talk.compute_factor;
    const double passed = std::min(until_done, until_computed);
    const double computed = passed / talk.compute_factor;
    now_ += passed;
    slowed_ += passed - computed;
    left = until_computed <= until_done ? 0 : left - computed;
    rest = until_done <= until_computed ? 0 : rest - passed / talk.talk_factor;
    if (rest <= 0) ++first_;
  }
  now_ += left;
}

void TwoStreams::wait(size_t number) {
  for (; first_ <= number; ++first_) {
    now_ += queue_[first_].left;
    waited_ += queue_[first_].left;
    queue_[first_].left = 0;
  }
}

TwoStreams beside(double compute_seconds, std::span<const Talk> talks) {
  TwoStreams streams;
  for (const Talk& talk : talks) streams.start(talk);
  streams.compute(compute_seconds);
  if (!talks.empty()) streams.wait(talks.size() - 1);
  return streams;
}

}  // namespace galvatron::cost
