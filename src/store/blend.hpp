#pragma once
// Training on several sources at once, each with its share. Which source sample number n comes from follows
// from n alone, and which of the source's samples that is follows from the seed: nothing is stored, and a
// resume at any sample needs nothing but its number.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/dataset.hpp"

namespace galvatron::store {

/// Deals sample numbers out to sources so that after any k samples each source has had its share of k to
/// within less than one sample. The rule is that of R. Tijdeman, "The chairman assignment problem" (Discrete
/// Mathematics 32, 1980): among the sources whose lag allows it, the one whose lag would first become too
/// large. Taking always the source that lags most, as Megatron does, keeps to one sample for two sources
/// only. Shares are whole millionths, so the rule is exact integer arithmetic and repeats every million
/// samples.
class Blend {
 public:
  /// Shares in proportion to `weights` (positive), each at least one millionth. At most 1000 sources.
  explicit Blend(std::span<const double> weights);

  struct Pick {
    int64_t source = 0;
    int64_t sample = 0;  ///< of that source: how many of its samples come before
  };
  /// Of sample number `sample` (0, 1, …, for ever). Quick for numbers that follow each other; a jump costs up
  /// to a million rounds. One thread at a time.
  Pick pick(int64_t sample);

  /// Millionths, adding up to a million.
  const std::vector<int64_t>& shares() const { return shares_; }

 private:
  int64_t next_source() const;

  std::vector<int64_t> shares_;
  std::vector<int64_t> taken_;  ///< of each source in this period, before sample place_
  int64_t place_ = 0;           ///< in the period
};

/// Tokens of a joined dataset that make one source of a blend.
struct BlendPart {
  int64_t begin = 0;
  int64_t tokens = 0;
  double weight = 1.0;
};

/// The sample order over several parts of a dataset; with one part the same as its SampleOrder.
class BlendOrder {
 public:
  /// Throws UserError (data) when a part is shorter than one window; `what` names the data there.
  BlendOrder(uint64_t seed, const std::vector<BlendPart>& parts, int64_t seq, const std::string& what);
  /// First token, in the joined dataset, of sample number `sample` (0, 1, …, for ever).
  int64_t offset_of(int64_t sample);

 private:
  Blend blend_;
  std::vector<SampleOrder> orders_;
  std::vector<int64_t> begins_;
};

}  // namespace galvatron::store
