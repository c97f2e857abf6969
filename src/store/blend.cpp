// Tijdeman's rule in millionths of a sample.
#include "store/blend.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::store {
namespace {

constexpr int64_t whole = 1'000'000;
constexpr size_t most_sources = 1000;

/// Shares nearest to the weights that add up to a whole: the largest remainders are rounded up.
std::vector<int64_t> shares_of(std::span<const double> weights) {
  GALV_ASSERT(!weights.empty() && weights.size() <= most_sources, weights.size());
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int64_t> shares;
  std::vector<double> remainders;
  for (const double weight : weights) {
    GALV_ASSERT(weight > 0.0 && std::isfinite(weight), weight);
    const double exact = weight / sum * static_cast<double>(whole);
    shares.push_back(std::max<int64_t>(1, static_cast<int64_t>(exact)));
    remainders.push_back(exact - static_cast<double>(shares.back()));
  }
  auto missing = whole - std::accumulate(shares.begin(), shares.end(), int64_t{0});
  std::vector<size_t> order(shares.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  for (size_t i = 0; missing > 0; i = (i + 1) % order.size(), --missing) ++shares[order[i]];
  // Tiny weights that were raised to a millionth are paid for by the largest share.
  *std::max_element(shares.begin(), shares.end()) += missing;
  return shares;
}

std::vector<double> weights_of(const std::vector<BlendPart>& parts) {
  std::vector<double> weights;
  for (const auto& part : parts) weights.push_back(part.weight);
  return weights;
}

}  // namespace

Blend::Blend(std::span<const double> weights) : shares_(shares_of(weights)), taken_(weights.size()) {}

int64_t Blend::next_source() const {
  const auto sources = static_cast<int64_t>(shares_.size());
  if (sources == 1) return 0;
  // With m sources no lag ever exceeds 1 − 1 / (2m − 2) when only those of at least 1 / (2m − 2) are served.
  const auto scale = 2 * sources - 2;
  int64_t best = -1, best_slack = 0;
  for (int64_t i = 0; i < sources; ++i) {
    const auto share = shares_[static_cast<size_t>(i)];
    const auto lag = share * (place_ + 1) - whole * taken_[static_cast<size_t>(i)];
    if (scale * lag < whole) continue;
    // The deadline is slack / share samples away; compared without dividing.
    const auto slack = whole * (scale - 1) - scale * lag;
    if (best >= 0 && slack * shares_[static_cast<size_t>(best)] >= best_slack * share) continue;
    best = i;
    best_slack = slack;
  }
  GALV_ASSERT(best >= 0, place_);
  return best;
}

Blend::Pick Blend::pick(int64_t sample) {
  GALV_ASSERT(sample >= 0, sample);
  const auto period = sample / whole, place = sample % whole;
  if (place < place_) {
    place_ = 0;
    std::fill(taken_.begin(), taken_.end(), 0);
  }
  for (; place_ < place; ++place_) ++taken_[static_cast<size_t>(next_source())];
  const auto source = next_source();
  const auto i = static_cast<size_t>(source);
  return {source, period * shares_[i] + taken_[i]};
}

BlendOrder::BlendOrder(uint64_t seed, const std::vector<BlendPart>& parts, int64_t seq,
                       const std::string& what)
    : blend_(weights_of(parts)) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto name = parts.size() == 1 ? what : core::format("source {} of {}", i + 1, what);
    orders_.emplace_back(seed, parts[i].tokens, seq, name, static_cast<int64_t>(i));
    begins_.push_back(parts[i].begin);
  }
}

int64_t BlendOrder::offset_of(int64_t sample) {
  const auto pick = blend_.pick(sample);
  const auto i = static_cast<size_t>(pick.source);
  return begins_[i] + orders_[i].offset_of(pick.sample);
}

}  // namespace galvatron::store
