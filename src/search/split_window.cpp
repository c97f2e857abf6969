// Two small programmes, one from each end. The least sum and the least maximum need not belong to the same
// split: together they are a bound all the same.
#include "search/split_window.hpp"

namespace galvatron::search {
namespace {

constexpr int64_t far = unreachable;

int64_t plus(int64_t a, int64_t b) {
  return a == far || b == far ? far : a + b;
}

}  // namespace

SplitWindow::SplitWindow(const SplitProblem& problem, const StageValues& values)
    : stages_(problem.stages),
      layers_(problem.layers),
      micros_(problem.micros),
      longest_(std::clamp<int64_t>(values.longest(), 1, layers_ - stages_ + 1)) {
  const auto states = static_cast<size_t>(stages_ * layers_);
  triples_.assign(states * static_cast<size_t>(longest_), far);
  heads_.assign(states, {far, far});
  tails_.assign(states, {far, far});
  firsts_.resize(states);
  for (int64_t stage = 0; stage < stages_; ++stage)
    for (int64_t first = stage; first <= (stage == 0 ? 0 : layers_ - 1); ++first) {
      if (stage > 0 && heads_[index(stage - 1, first - 1)].sum == far) continue;
      const int64_t end = std::min(layers_ - (stages_ - 1 - stage), end_of(first));
      for (int64_t last = stage + 1 == stages_ ? layers_ - 1 : first; last < end; ++last) {
        const int64_t value = values.least(stage, first, last);
        if (value == far) continue;
        triple(stage, first, last) = value;
        const Least before = stage == 0 ? Least{} : heads_[index(stage - 1, first - 1)];
        auto& head = heads_[index(stage, last)];
        head.sum = std::min(head.sum, before.sum + value);
        head.largest = std::min(head.largest, std::max(before.largest, value));
      }
    }
  for (int64_t stage = stages_ - 1; stage >= 0; --stage)
    for (int64_t first = 0; first < layers_; ++first)
      for (int64_t last = first; last < end_of(first); ++last) {
        const int64_t value = triple(stage, first, last);
        if (value == far) continue;
        if (stage + 1 < stages_ && (last + 1 == layers_ || tails_[index(stage + 1, last + 1)].sum == far))
          continue;
        const Least after = stage + 1 == stages_ ? Least{} : tails_[index(stage + 1, last + 1)];
        auto& tail = tails_[index(stage, first)];
        tail.sum = std::min(tail.sum, value + after.sum);
        tail.largest = std::min(tail.largest, std::max(value, after.largest));
      }
}

int64_t SplitWindow::worth(const Least& before, int64_t value, const Least& after) const {
  const int64_t sum = plus(plus(before.sum, value), after.sum);
  if (sum == far) return far;
  return worth_of(sum, std::max({before.largest, value, after.largest}), micros_);
}

void SplitWindow::narrow(int64_t limit) {
  for (auto& firsts : firsts_) firsts.clear();
  for (int64_t stage = 0; stage < stages_; ++stage)
    for (int64_t first = 0; first < layers_; ++first)
      for (int64_t last = first; last < end_of(first); ++last) {
        const int64_t value = triple(stage, first, last);
        if (value == far) continue;
        const bool final_stage = stage + 1 == stages_;
        if (!final_stage && last + 1 == layers_) continue;
        const Least before = stage == 0 ? Least{} : heads_[index(stage - 1, first - 1)];
        const Least after = final_stage ? Least{} : tails_[index(stage + 1, last + 1)];
        const int64_t least = worth(before, value, after);
        if (least != far && least <= limit) firsts_[index(stage, last)].push_back(first);
      }
}

int64_t SplitWindow::completed(int64_t stage, int64_t last, int64_t sum, int64_t largest) const {
  const Least after = stage + 1 == stages_ ? Least{} : tails_[index(stage + 1, last + 1)];
  return worth({sum, largest}, 0, after);
}

}  // namespace galvatron::search
