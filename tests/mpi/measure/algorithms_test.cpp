// Every product and every attention that a plan may ask for gets an algorithm, the same on all ranks,
// wherever its operands lie: on far devices, whose pretended library offers three, the last being the
// fastest.
#include "measure/algorithms.hpp"

#include <gtest/gtest.h>

#include "kernels/algorithm_chooser.hpp"
#include "measure/layer_bench.hpp"
#include "mpi/measure/support.hpp"
#include "runtime/kernel_args.hpp"
#include "support/far_device.hpp"
#include "support/models.hpp"

namespace galvatron::measure {
namespace {

using kernels::AlgorithmChooser;

std::vector<LayerCase> small_cases() {
  std::vector<LayerCase> cases;
  for (const auto& layer : galvatron::test::small_model(1).layers)
    for (const int32_t tp : {1, 2})
      for (const int64_t samples : {1, 3, 4}) {
        program::LayerContext context;
        context.strategy.tp = tp;
        context.samples = samples;
        context.dtype = core::DType::bf16;
        cases.push_back({layer, context});
      }
  return cases;
}

struct FarRank {
  std::unique_ptr<galvatron::test::FarDevice> device = galvatron::test::make_far_device({});
  std::unique_ptr<kernels::Kernels> kernels = galvatron::test::make_far_kernels(*device, 1);
};

class Algorithms : public testing::Test {
 protected:
  AlgorithmCoverage measure(FarRank& rank, cost::ModelProfile& profile, double seconds = 60) {
    Budget budget(*live_.world, seconds);
    budget.begin("products", 1.0);
    return measure_algorithms(*live_.world, *rank.device, *rank.kernels, small_cases(), 0, budget, profile);
  }
  std::string text_of(const core::AlgorithmChoices& choices) {
    auto text = choices.library + choices.device;
    for (const auto& [product, algorithm] : choices.algorithms) text += product + algorithm;
    return text;
  }

  test::Live live_;
};

TEST_F(Algorithms, AreTheFastestOnes) {
  FarRank rank;
  cost::ModelProfile profile;
  const auto coverage = measure(rank, profile);
  EXPECT_EQ(coverage.measured, coverage.wanted);
  EXPECT_EQ(profile.products.library, "a far library 1");
  EXPECT_EQ(profile.attention.library, "a far attention 1");
  for (const auto step : core::all_chosen_steps) {
    const auto& choices = profile.choices(step);
    EXPECT_FALSE(choices.algorithms.empty()) << name_of(step);
    for (const auto& [call, algorithm] : choices.algorithms) EXPECT_EQ(algorithm, "third") << call;
    EXPECT_TRUE(live_.same_everywhere(text_of(choices)));
    EXPECT_EQ(rank.kernels->chooser(step)->wanted(), 1) << "what comes next must not measure";
  }
}

TEST_F(Algorithms, OfEveryPlanHaveAnEntry) {
  FarRank measuring;
  cost::ModelProfile profile;
  measure(measuring, profile);
  FarRank training;
  for (const auto step : core::all_chosen_steps) {
    auto& chooser = *training.kernels->chooser(step);
    EXPECT_EQ(chooser.use(profile.choices(step)),
              static_cast<int64_t>(profile.choices(step).algorithms.size()));
    chooser.set_mode(AlgorithmChooser::Mode::measured);  // so that it notes what it has to choose itself
  }
  const runtime::KernelWorkspace workspace(*training.kernels);
  std::vector<device::Buffer> in_the_way;  // other places than those of the measurement
  for (const auto& [layer, context] : small_cases()) {
    in_the_way.emplace_back(*training.device, 4096 + 64 * static_cast<int64_t>(in_the_way.size()));
    const auto program = program::lower(layer, context, workspace);
    LayerBench(*training.device, *training.kernels, program).play_chosen();
  }
  for (const auto step : core::all_chosen_steps)
    for (const auto& [call, algorithm] : training.kernels->chooser(step)->choices().algorithms)
      EXPECT_TRUE(profile.choices(step).algorithms.contains(call)) << call;
}

TEST_F(Algorithms, StayAsAnEarlierProfileHasThem) {
  FarRank first, second, third;
  cost::ModelProfile profile;
  measure(first, profile);
  for (auto& [product, algorithm] : profile.products.algorithms) algorithm = "another";
  const auto earlier = profile.products, attention = profile.attention;
  measure(second, profile);
  EXPECT_TRUE(profile.products == earlier);
  profile.products.library = "a far library 0";
  measure(third, profile);
  EXPECT_EQ(profile.products.library, "a far library 1");
  EXPECT_EQ(profile.products.algorithms.size(), earlier.algorithms.size());
  for (const auto& [product, algorithm] : profile.products.algorithms)
    EXPECT_EQ(algorithm, "third") << product;
  EXPECT_TRUE(profile.attention == attention) << "its library is still the same";
}

TEST_F(Algorithms, StopWithTheBudget) {
  FarRank rank;
  cost::ModelProfile profile;
  const auto coverage = measure(rank, profile, 0);
  EXPECT_EQ(coverage.measured, 0);
  EXPECT_GT(coverage.wanted, 0);
  EXPECT_TRUE(profile.products.algorithms.empty());
}

}  // namespace
}  // namespace galvatron::measure
