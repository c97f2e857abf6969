// A read is split where stretches meet.
#include "store/joined_dataset.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/fingerprint.hpp"
#include "core/format.hpp"

namespace galvatron::store {
namespace {

class JoinedDataset final : public Dataset {
 public:
  JoinedDataset(std::vector<Stretch> stretches, std::string note)
      : stretches_(std::move(stretches)), note_(std::move(note)) {
    for (const auto& s : stretches_) {
      GALV_ASSERT(s.begin >= 0 && s.tokens >= 0 && s.begin <= s.data->tokens() - s.tokens, s.begin, s.tokens);
      begins_.push_back(tokens_);
      tokens_ += s.tokens;
      vocabulary_ = std::max(vocabulary_, s.data->vocabulary());
    }
    GALV_ASSERT(tokens_ > 0);
  }

  int64_t tokens() const override { return tokens_; }
  int64_t vocabulary() const override { return vocabulary_; }

  void read(int64_t offset, std::span<int32_t> out) const override {
    const auto count = static_cast<int64_t>(out.size());
    GALV_ASSERT(offset >= 0 && offset <= tokens_ - count, offset, count, tokens_);
    auto i =
        static_cast<size_t>(std::upper_bound(begins_.begin(), begins_.end(), offset) - begins_.begin() - 1);
    while (!out.empty()) {
      const auto& s = stretches_[i];
      const auto skip = offset - begins_[i];
      const auto here = std::min(s.tokens - skip, static_cast<int64_t>(out.size()));
      if (here > 0) s.data->read(s.begin + skip, out.first(static_cast<size_t>(here)));
      out = out.subspan(static_cast<size_t>(here));
      offset += here;
      ++i;
    }
  }

  std::string fingerprint() const override {
    std::string all = note_;
    for (const auto& s : stretches_)
      all += core::format("{}[{}+{}];", s.data->fingerprint(), s.begin, s.tokens);
    return core::format("joined-{}-{}", tokens_, core::fingerprint(all));
  }

 private:
  std::vector<Stretch> stretches_;
  std::string note_;
  std::vector<int64_t> begins_;
  int64_t tokens_ = 0;
  int64_t vocabulary_ = 1;
};

}  // namespace

std::unique_ptr<Dataset> join_datasets(std::vector<Stretch> stretches, const std::string& note) {
  return std::make_unique<JoinedDataset>(std::move(stretches), note);
}

}  // namespace galvatron::store
