// The sample order and the synthetic dataset: both are arithmetic on counters.
#include "store/dataset.hpp"

#include <bit>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/random.hpp"

namespace galvatron::store {
namespace {

// Four rounds make a Feistel network of random functions a strong pseudo-random permutation (Luby and
// Rackoff, 1988); the halves here can be a bit wide, so a few more.
constexpr uint64_t feistel_rounds = 8;

uint64_t feistel(uint64_t key, int half_bits, uint64_t value) {
  const uint64_t mask = (uint64_t{1} << half_bits) - 1;
  uint64_t left = value >> half_bits;
  uint64_t right = value & mask;
  for (uint64_t round = 0; round < feistel_rounds; ++round) {
    const uint64_t mixed = left ^ (core::random_bits(key, round << 32 | right) & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits | right;
}

class SyntheticDataset final : public Dataset {
 public:
  SyntheticDataset(uint64_t seed, const std::string& name, int64_t tokens, int64_t vocabulary)
      : key_(core::key_of(seed, name)), tokens_(tokens), vocabulary_(vocabulary) {
    GALV_ASSERT(tokens >= 0 && vocabulary > 0, tokens, vocabulary);
  }

  int64_t tokens() const override { return tokens_; }
  int64_t vocabulary() const override { return vocabulary_; }
  void read(int64_t offset, std::span<int32_t> out) const override {
    const auto count = static_cast<int64_t>(out.size());
    GALV_ASSERT(offset >= 0 && offset <= tokens_ - count, offset, count, tokens_);
    for (int64_t i = 0; i < count; ++i)
      out[static_cast<size_t>(i)] =
          static_cast<int32_t>(core::uniform_below(key_, static_cast<uint64_t>(offset + i), vocabulary_));
  }
  std::string fingerprint() const override {
    return core::format("synthetic-{:016x}-{}-{}", key_, tokens_, vocabulary_);
  }

 private:
  uint64_t key_;
  int64_t tokens_;
  int64_t vocabulary_;
};

}  // namespace

std::unique_ptr<Dataset> make_synthetic_dataset(uint64_t seed, const std::string& name, int64_t tokens,
                                                int64_t vocabulary) {
  return std::make_unique<SyntheticDataset>(seed, "synthetic/" + name, tokens, vocabulary);
}

SampleOrder::SampleOrder(uint64_t seed, int64_t tokens, int64_t seq, const std::string& what, int64_t source)
    : windows_(tokens / (seq + 1)),
      window_(seq + 1),
      key_(core::key_of(seed, source == 0 ? "sample order" : core::format("sample order {}", source))) {
  GALV_ASSERT(seq > 0, seq);
  if (windows_ == 0)
    throw core::UserError(
        core::ExitCode::data,
        core::format("{} has {} tokens; one sample needs seq + 1 = {}", what, tokens, window_));
  half_bits_ = (std::bit_width(static_cast<uint64_t>(windows_ - 1)) + 1) / 2;
  GALV_ASSERT(half_bits_ <= 31, windows_);  // round and half share one counter
}

int64_t SampleOrder::offset_of(int64_t sample) const {
  GALV_ASSERT(sample >= 0, sample);
  if (half_bits_ == 0) return 0;  // one window
  const uint64_t key = core::random_bits(key_, static_cast<uint64_t>(epoch_of(sample)));
  auto place = static_cast<uint64_t>(sample % windows_);
  do {
    place = feistel(key, half_bits_, place);
  } while (place >= static_cast<uint64_t>(windows_));
  return static_cast<int64_t>(place) * window_;
}

}  // namespace galvatron::store
