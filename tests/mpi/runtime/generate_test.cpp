// The logits that a text goes on with are those that the loss is made of, and draws follow from them, the
// seed and the place alone.

#include "runtime/generate.hpp"

#include <algorithm>
#include <cmath>

#include "support/plan_job.hpp"
#include "support/training_run.hpp"

namespace galvatron::testing {
namespace {

class Generate : public PlanJob {};

/// Position `place` of a sample of 1, 2, 3, … has the label `label`, all others none.
class OneLabel final : public runtime::MicroBatchSource {
 public:
  OneLabel(const plan::Plan& plan, const spec::ModelSpec& model, int64_t rank, int64_t place, int32_t label)
      : ids_(model.seq + 1),
        marks_(model.seq + 1),
        tokens_(ids_, first, plan, model, rank),
        labels_(marks_, first, plan, model, rank) {
    for (size_t i = 0; i < ids_.numbers.size(); ++i) ids_.numbers[i] = static_cast<int32_t>(i * 5 % 7);
    std::fill(marks_.numbers.begin(), marks_.numbers.end(), -1);
    marks_.numbers[static_cast<size_t>(place + 1)] = label;
  }
  void tokens(int64_t micro, device::TensorView out) override { tokens_.tokens(micro, out); }
  void labels(int64_t micro, device::TensorView out) override { labels_.labels(micro, out); }

 private:
  struct Numbers final : store::Dataset {
    explicit Numbers(int64_t size) : numbers(static_cast<size_t>(size)) {}
    int64_t tokens() const override { return static_cast<int64_t>(numbers.size()); }
    int64_t vocabulary() const override { return int64_t{1} << 31; }
    void read(int64_t offset, std::span<int32_t> out) const override {
      std::copy_n(numbers.begin() + offset, out.size(), out.begin());
    }
    std::string fingerprint() const override { return "numbers"; }
    std::vector<int32_t> numbers;
  };
  static int64_t first(int64_t sample) { return sample == 0 ? 0 : -1; }

  Numbers ids_, marks_;
  runtime::Loader tokens_, labels_;
};

TEST_F(Generate, LogitsAreThoseOfTheLoss) {
  const auto model = variant_model({});
  const auto device = device::make_device(device::DeviceKind::cpu);
  const auto kernels = kernels::make_kernels(*device, 1);
  const auto ranks = world().size();
  const auto plan = uniform_plan(model, 1, 1, ranks, 0, spec::Recompute::none, 2 * ranks, 1);
  runtime::Session session(world(), *device, *kernels, plan, model, {});
  for (const int64_t place : {int64_t{0}, model.seq / 2, model.seq - 1}) {
    for (const int32_t label : {0, 1, static_cast<int32_t>(model.vocab) - 1}) {
      OneLabel source(plan, model, world().rank(), place, label);
      const auto logits = session.logits(source);
      ASSERT_EQ(static_cast<int64_t>(logits.size()), model.vocab);
      double sum = 0;
      for (const double x : logits) sum += std::exp(x);
      EXPECT_NEAR(session.evaluate(source, 1), std::log(sum) - logits[static_cast<size_t>(label)], 1e-5)
          << "position " << place << ", label " << label;
    }
  }
}

TEST_F(Generate, TheMostLikelyIdIsTakenAtTemperatureZero) {
  const std::vector<double> logits = {1.0, 3.0, -2.0, 3.0};
  EXPECT_EQ(runtime::sample_id(logits, {.temperature = 0.0, .seed = 1}, 5), 1) << "the first of equals";
  EXPECT_EQ(runtime::sample_id(logits, {.temperature = 1.0, .top_k = 1}, 5), 1);
}

TEST_F(Generate, DrawsFollowTheLogits) {
  const std::vector<double> logits = {std::log(0.5), std::log(0.3), std::log(0.15), std::log(0.05)};
  constexpr int64_t draws = 20'000;
  const auto shares = [&](const runtime::SamplingOptions& options) {
    std::vector<double> count(4);
    for (int64_t n = 0; n < draws; ++n)
      count[static_cast<size_t>(runtime::sample_id(logits, options, n))] += 1.0 / draws;
    return count;
  };
  const auto all = shares({.temperature = 1.0, .seed = 7});
  const auto two = shares({.temperature = 1.0, .top_k = 2, .seed = 7});
  const auto sharp = shares({.temperature = 0.5, .seed = 7});
  // Five standard errors of a share are at most 0.018.
  EXPECT_NEAR(all[0], 0.5, 0.018);
  EXPECT_NEAR(all[3], 0.05, 0.008);
  EXPECT_NEAR(two[0], 0.625, 0.018);
  EXPECT_EQ(two[2] + two[3], 0.0);
  EXPECT_NEAR(sharp[0], 0.25 / 0.365, 0.018);
}

}  // namespace
}  // namespace galvatron::testing
