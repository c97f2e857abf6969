#pragma once
// At which sizes to sample, and when enough has been sampled: warm up until two medians agree, then collect
// until the count or the time is reached. It decides from what it is given and nothing else, so ranks that
// give it the same numbers decide alike.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace galvatron::measure {

/// first, first · factor, … and last, ascending.
std::vector<int64_t> geometric_sizes(int64_t first, int64_t last, int64_t factor);

struct SampleRule {
  int64_t warm_batch = 5;        ///< iterations per warm-up batch
  double warm_tolerance = 0.05;  ///< medians of two batches in a row agree within this
  int64_t target = 20;           ///< samples wanted
  int64_t minimum = 3;           ///< samples taken even when the time is over
  double seconds = 0.1;          ///< for warm-up and samples together
  double patience = std::numeric_limits<double>::infinity();  ///< after these seconds one sample suffices
};

class Sampler {
 public:
  explicit Sampler(const SampleRule& rule) : rule_(rule) {}

  /// Iterations to run next; 0 = enough.
  int64_t next_batch() const;
  /// What they took (seconds each), and how long the whole batch took.
  void add(std::span<const double> batch, double elapsed_seconds);

  const std::vector<double>& samples() const { return samples_; }

 private:
  enum class State { first_look, warming, sampling };

  SampleRule rule_;
  State state_ = State::first_look;
  double elapsed_ = 0;        ///< seconds so far
  double per_iteration_ = 0;  ///< seconds, of the last batch
  double last_median_ = 0;    ///< of the last warm-up batch
  std::vector<double> samples_;
};

}  // namespace galvatron::measure
