// The baseline that a language model has to beat to have learned anything beyond pairs of neighbours.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/errors.hpp"
#include "store/dataset.hpp"

namespace galvatron::store {
namespace {

constexpr int64_t most_vocabulary = 1024;
constexpr int64_t chunk_tokens = int64_t{1} << 16;

/// Pair counts of a dataset and what Witten-Bell smoothing needs beside them.
class Counts {
 public:
  explicit Counts(int64_t vocabulary)
      : vocabulary_(vocabulary),
        pairs_(static_cast<size_t>(vocabulary * vocabulary)),
        firsts_(static_cast<size_t>(vocabulary)),
        followers_(static_cast<size_t>(vocabulary)),
        singles_(static_cast<size_t>(vocabulary)) {}

  void add(const Dataset& data) {
    std::vector<int32_t> chunk;
    int32_t before = -1;
    for (int64_t at = 0; at < data.tokens(); at += chunk_tokens) {
      chunk.resize(static_cast<size_t>(std::min(chunk_tokens, data.tokens() - at)));
      data.read(at, chunk);
      for (const int32_t token : chunk) {
        ++singles_[static_cast<size_t>(token)];
        if (before >= 0) add_pair(before, token);
        before = token;
      }
    }
    total_ = data.tokens();
  }

  /// −ln p(token | before).
  double loss(int32_t before, int32_t token) const {
    const double single = static_cast<double>(singles_[static_cast<size_t>(token)] + 1) /
                          static_cast<double>(total_ + vocabulary_);
    const auto first = static_cast<double>(firsts_[static_cast<size_t>(before)]);
    if (first == 0.0) return -std::log(single);
    const auto followers = static_cast<double>(followers_[static_cast<size_t>(before)]);
    const auto pair = static_cast<double>(pairs_[static_cast<size_t>(before * vocabulary_ + token)]);
    return -std::log((pair + followers * single) / (first + followers));
  }

 private:
  void add_pair(int32_t before, int32_t token) {
    auto& pair = pairs_[static_cast<size_t>(before * vocabulary_ + token)];
    if (pair++ == 0) ++followers_[static_cast<size_t>(before)];
    ++firsts_[static_cast<size_t>(before)];
  }

  int64_t vocabulary_;
  std::vector<int64_t> pairs_;
  std::vector<int64_t> firsts_;     ///< times a token is followed by any
  std::vector<int64_t> followers_;  ///< distinct followers
  std::vector<int64_t> singles_;
  int64_t total_ = 0;
};

}  // namespace

double bigram_loss(const Dataset& train, const Dataset& valid, int64_t seq, int64_t windows) {
  const auto vocabulary = std::max(train.vocabulary(), valid.vocabulary());
  GALV_ASSERT(vocabulary <= most_vocabulary, vocabulary);
  GALV_ASSERT(seq > 0 && windows > 0 && windows <= valid.tokens() / (seq + 1), seq, windows, valid.tokens());
  Counts counts(vocabulary);
  counts.add(train);
  std::vector<int32_t> window(static_cast<size_t>(seq + 1));
  double sum = 0.0;
  for (int64_t w = 0; w < windows; ++w) {
    valid.read(w * (seq + 1), window);
    for (size_t i = 1; i < window.size(); ++i) sum += counts.loss(window[i - 1], window[i]);
  }
  return sum / static_cast<double>(windows * seq);
}

}  // namespace galvatron::store
