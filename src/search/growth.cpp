// Steps of 3/2 and 4/3 in turn: fine enough for samples that fill the memory, few enough to try them all.
#include "search/growth.hpp"

#include <algorithm>

namespace galvatron::search {
namespace {

constexpr double least_gain = 1.01;  // of a doubling
constexpr int64_t largest_batch = int64_t{1} << 20;

/// 1, 3/2, 2, 3, 4, 6, 8 … times `start`; steps that are no whole number of samples are left out.
std::vector<int64_t> ladder_from(int64_t start) {
  std::vector<int64_t> ladder;
  for (int64_t power = start; power <= std::max(start, largest_batch); power *= 2) {
    ladder.push_back(power);
    if (power % 2 == 0) ladder.push_back(power / 2 * 3);
  }
  return ladder;
}

}  // namespace

std::vector<int64_t> growing_batches(int64_t ranks, const RateOfBatch& rate) {
  int64_t start = ranks;
  auto first = rate(start);
  while (!first && start > 1) first = rate(start /= 2);
  std::vector<int64_t> batches = {start};
  if (!first) return batches;
  // best[i]: of the first i + 1 batches.
  std::vector<double> best = {*first};
  const auto ladder = ladder_from(start);
  for (size_t i = 1; i < ladder.size(); ++i) {
    const auto next = rate(ladder[i]);
    if (!next) break;
    batches.push_back(ladder[i]);
    best.push_back(std::max(best.back(), *next));
    const auto half =
        std::find_if(batches.begin(), batches.end(), [&](int64_t b) { return 2 * b >= ladder[i]; });
    const auto before = static_cast<size_t>(half - batches.begin());
    if (2 * *half == ladder[i] && best.back() < least_gain * best[before]) break;
  }
  return batches;
}

std::vector<int64_t> batches_to_measure(int64_t ranks) {
  constexpr size_t most = 7;  // eight samples a rank: beyond them times are lines
  auto ladder = ladder_from(ranks);
  ladder.resize(std::min(ladder.size(), most));
  return ladder;
}

}  // namespace galvatron::search
