#pragma once
// What training reads: a long row of tokens, and a rule which stretch of it is sample number n. The rule
// depends on the seed and the sample counter alone, so data order survives any change of ranks or plan.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace galvatron::store {

/// A row of tokens that every rank can read at any place. Safe to read from several threads.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t tokens() const = 0;
  /// Every token is in [0, vocabulary()).
  virtual int64_t vocabulary() const = 0;
  /// Tokens [offset, offset + out.size()); throws InternalError outside the row.
  virtual void read(int64_t offset, std::span<int32_t> out) const = 0;
  /// Changes when any token changes (of files beyond 16 MiB: one of a sample): a resume on other data is
  /// refused by it.
  virtual std::string fingerprint() const = 0;
};

/// Uniform random tokens by counter: no file, the same on every rank. For tests and benchmarks.
std::unique_ptr<Dataset> make_synthetic_dataset(uint64_t seed, const std::string& name, int64_t tokens,
                                                int64_t vocabulary);

/// Cuts a dataset into windows of seq + 1 tokens that do not overlap (seq inputs, seq targets shifted by one)
/// and walks them epoch by epoch, each epoch in an order of its own. An order is a permutation that is
/// computed, not stored: a Feistel network over the next even power of two, walked until it lands inside
/// (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002).
class SampleOrder {
 public:
  /// Throws UserError (data) when the dataset is shorter than one window; `what` names it there. Sources of a
  /// blend have orders of their own.
  SampleOrder(uint64_t seed, int64_t tokens, int64_t seq, const std::string& what, int64_t source = 0);

  int64_t windows() const { return windows_; }  ///< per epoch
  int64_t window_tokens() const { return window_; }
  int64_t epoch_of(int64_t sample) const { return sample / windows_; }
  /// First token of sample number `sample` (0, 1, …, for ever).
  int64_t offset_of(int64_t sample) const;

 private:
  int64_t windows_ = 0;
  int64_t window_ = 0;
  uint64_t key_ = 0;
  int half_bits_ = 0;
};

/// Mean loss in nats per token of a bigram model fitted on `train`, over the first `windows` windows of seq +
/// 1 tokens of `valid` in file order, counting the seq targets of each, as evaluation does. Smoothing is
/// Witten and Bell's (IEEE Trans. Inf. Theory 37, 1991): p(b|a) = (c(ab) + t(a) p(b)) / (c(a) + t(a)) with
/// t(a) the number of distinct followers of a and p(b) = (c(b) + 1) / (n + v). Vocabularies of up to 1024
/// tokens.
double bigram_loss(const Dataset& train, const Dataset& valid, int64_t seq, int64_t windows);

}  // namespace galvatron::store
