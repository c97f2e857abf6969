// The window is fed like a sample of training, with a label at its last position alone: that is how the head
// knows which logits are wanted.

#include "runtime/generate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "comm/world.hpp"
#include "core/errors.hpp"
#include "core/random.hpp"

namespace galvatron::runtime {
namespace {

/// A row of numbers in memory as a loader reads it.
class Row final : public store::Dataset {
 public:
  explicit Row(int64_t size) : numbers_(static_cast<size_t>(size)) {}
  std::vector<int32_t>& numbers() { return numbers_; }

  int64_t tokens() const override { return static_cast<int64_t>(numbers_.size()); }
  int64_t vocabulary() const override { return int64_t{1} << 31; }
  void read(int64_t offset, std::span<int32_t> out) const override {
    std::copy_n(numbers_.begin() + offset, out.size(), out.begin());
  }
  std::string fingerprint() const override { return "a row in memory"; }

 private:
  std::vector<int32_t> numbers_;
};

/// Sample 0 is the end of a text, the others of its batch are empty.
class WindowSource final : public MicroBatchSource {
 public:
  explicit WindowSource(Session& session)
      : seq_(session.model().seq),
        ids_(seq_ + 1),
        marks_(seq_ + 1),
        tokens_(ids_, offset, session.plan(), session.model(), session.world().rank()),
        labels_(marks_, offset, session.plan(), session.model(), session.world().rank()) {}

  void show(const std::vector<int32_t>& text) {
    const auto length = std::min(seq_, static_cast<int64_t>(text.size()));
    std::fill(ids_.numbers().begin(), ids_.numbers().end(), 0);
    std::copy(text.end() - length, text.end(), ids_.numbers().begin());
    std::fill(marks_.numbers().begin(), marks_.numbers().end(), -1);
    marks_.numbers()[static_cast<size_t>(length)] = 0;  // labels are shifted by one
  }
  void tokens(int64_t micro, device::TensorView out) override { tokens_.tokens(micro, out); }
  void labels(int64_t micro, device::TensorView out) override { labels_.labels(micro, out); }

 private:
  static int64_t offset(int64_t sample) { return sample == 0 ? 0 : -1; }

  int64_t seq_;
  Row ids_, marks_;
  Loader tokens_, labels_;
};

}  // namespace

int32_t sample_id(std::span<const double> logits, const SamplingOptions& options, int64_t place) {
  GALV_ASSERT(!logits.empty() && options.temperature >= 0.0 && options.top_k >= 0, options.temperature,
              options.top_k);
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto likelier = [&](int32_t a, int32_t b) {
    const double x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  if (options.temperature == 0.0) return *std::min_element(order.begin(), order.end(), likelier);
  std::sort(order.begin(), order.end(), likelier);
  if (options.top_k > 0 && options.top_k < static_cast<int64_t>(order.size()))
    order.resize(static_cast<size_t>(options.top_k));
  const double highest = logits[static_cast<size_t>(order.front())];
  std::vector<double> sums;
  double sum = 0;
  for (const int32_t id : order)
    sums.push_back(sum += std::exp((logits[static_cast<size_t>(id)] - highest) / options.temperature));
  const double drawn =
      sum * core::uniform(core::key_of(options.seed, "generate"), static_cast<uint64_t>(place));
  const auto found = std::upper_bound(sums.begin(), sums.end(), drawn) - sums.begin();
  return order[std::min(static_cast<size_t>(found), order.size() - 1)];
}

std::vector<int32_t> generate(Session& session, std::vector<int32_t> prompt, int64_t count,
                              const SamplingOptions& options, const std::function<void(int32_t)>& made) {
  GALV_ASSERT(!prompt.empty());
  WindowSource source(session);
  const auto begin = prompt.size();
  for (int64_t place = 0; place < count; ++place) {
    source.show(prompt);
    const auto logits = session.logits(source);
    const bool finite = std::all_of(logits.begin(), logits.end(), [](double x) { return std::isfinite(x); });
    session.world().agree("", [&] {
      if (!finite)
        throw core::Error(core::ExitCode::numerical, "not finite: the logits; the weights may be damaged");
    });
    prompt.push_back(sample_id(logits, options, place));
    made(prompt.back());
  }
  return {prompt.begin() + static_cast<int64_t>(begin), prompt.end()};
}

}  // namespace galvatron::runtime
