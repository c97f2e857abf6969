// A third of the time at most goes into warming up.
#include "measure/sampler.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {

std::vector<int64_t> geometric_sizes(int64_t first, int64_t last, int64_t factor) {
  GALV_ASSERT(first > 0 && first <= last && factor > 1, first, last, factor);
  std::vector<int64_t> out;
  for (auto size = first; size < last; size *= factor) out.push_back(size);
  out.push_back(last);
  return out;
}

int64_t Sampler::next_batch() const {
  const auto affordable = [&](double seconds) {
    if (per_iteration_ <= 0) return rule_.warm_batch;
    return static_cast<int64_t>(std::clamp(seconds / per_iteration_, 0.0, 1e6));
  };
  switch (state_) {
    case State::first_look:
      return 1;
    case State::warming:
      return std::clamp<int64_t>(affordable(rule_.seconds / 3 - elapsed_), 1, rule_.warm_batch);
    case State::sampling:
      break;
  }
  const auto have = static_cast<int64_t>(samples_.size());
  const int64_t least = elapsed_ < rule_.patience ? rule_.minimum : 1;
  if (have >= rule_.target || (have >= least && elapsed_ >= rule_.seconds)) return 0;
  const int64_t most = std::max(rule_.warm_batch, rule_.target / 4);
  return std::clamp<int64_t>(affordable(rule_.seconds - elapsed_), 1, std::min(most, rule_.target - have));
}

void Sampler::add(std::span<const double> batch, double elapsed_seconds) {
  GALV_ASSERT(!batch.empty());
  elapsed_ += elapsed_seconds;
  per_iteration_ = elapsed_seconds / static_cast<double>(batch.size());
  if (state_ == State::sampling) {
    samples_.insert(samples_.end(), batch.begin(), batch.end());
    return;
  }
  const bool first = state_ == State::first_look;
  const double median = median_of(batch);
  const bool agree = !first && last_median_ > 0 && static_cast<int64_t>(batch.size()) == rule_.warm_batch &&
                     std::abs(median - last_median_) <= rule_.warm_tolerance * last_median_;
  last_median_ = first ? 0 : median;
  state_ = agree || elapsed_ >= rule_.seconds / 3 ? State::sampling : State::warming;
}

}  // namespace galvatron::measure
