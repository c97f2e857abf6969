// Every rank of a plan, rehearsed on one core: messages meet, collectives match, and the memory reached is
// the memory planned and the memory priced.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "core/errors.hpp"
#include "cost/plan_price.hpp"
#include "runtime/kernel_args.hpp"
#include "runtime/rehearse.hpp"
#include "support/plan_runs.hpp"
#include "support/plan_space.hpp"
#include "support/profiles.hpp"

namespace galvatron::testing {
namespace {

constexpr int threads = 2;

/// What the cost model says about the arenas of a plan's stages.
std::vector<int64_t> priced_bytes(const plan::Plan& plan, const spec::ModelSpec& model, core::DType dtype) {
  const auto profile = test::round_profile(1, plan.world);
  const auto device = device::make_device(device::DeviceKind::dry);
  const auto kernels = kernels::make_kernels(*device, threads);
  const runtime::KernelWorkspace workspace(*kernels);
  cost::LayerPricer pricer(profile, {1, plan.world, 0}, workspace);
  std::vector<int64_t> bytes;
  for (const auto& memory : cost::price_plan(plan, model, dtype, pricer).memory)
    bytes.push_back(memory.arena.total());
  return bytes;
}

void check(const plan::Plan& plan, const spec::ModelSpec& model, core::DType dtype = core::DType::f32) {
  SCOPED_TRACE(std::to_string(plan.world) + " ranks, " + describe(plan));
  runtime::Rehearsal rehearsal;
  ASSERT_NO_THROW(rehearsal = runtime::rehearse(plan, model, dtype, threads));
  const auto priced = priced_bytes(plan, model, dtype);
  std::vector<int64_t> fullest(static_cast<size_t>(plan.pipeline_ranks()));
  for (int64_t rank = 0; rank < plan.world; ++rank) {
    const auto& at = rehearsal.ranks[static_cast<size_t>(rank)];
    EXPECT_EQ(at.high_water_bytes, at.planned_bytes) << "rank " << rank;
    EXPECT_EQ(at.device_bytes, at.planned_bytes) << "rank " << rank << " allocates something else";
    EXPECT_TRUE(plan.world == 1 || at.calls > 0) << "rank " << rank << " talks to nobody";
    auto& most = fullest[static_cast<size_t>(plan.pipeline_rank_of(rank))];
    most = std::max(most, at.planned_bytes);
  }
  EXPECT_EQ(fullest, priced) << "planned and priced, pipeline rank by pipeline rank";
  EXPECT_EQ(rehearsal.peak_bytes(), *std::max_element(priced.begin(), priced.end()));
}

class Rehearse : public ::testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Worlds, Rehearse, ::testing::Values(1, 2, 4, 6, 8, 16));

TEST_P(Rehearse, UniformPlans) {
  const auto model = variant_model({});
  const auto all = uniform_plans(model, GetParam(), 48, {1, 2, 3});
  const auto some = pairwise_cover(all);
  for (const auto& plan : some) check(plan, model);
  std::printf("%zu plans of %zu on %d pretended ranks\n", some.size(), all.size(),
              static_cast<int>(GetParam()));
}

/// Layouts that differ from layer to layer included.
TEST_P(Rehearse, MixedPlans) {
  std::printf("GALVATRON_TEST_SEED=%llu\n", static_cast<unsigned long long>(test_seed()));
  for (uint64_t i = 0; i < 24; ++i) {
    const auto model = variant_model(variants()[i % variants().size()]);
    check(mixed_plan(model, GetParam(), 40, test_seed(), i), model,
          i % 5 == 0 ? core::DType::f64 : core::DType::f32);
  }
}

TEST_P(Rehearse, Schedules) {
  const auto model = variant_model({});
  const auto all = schedule_plans(model, GetParam(), 24);
  for (const auto& plan : all) check(plan, model);
  std::printf("%zu plans on %d pretended ranks\n", all.size(), static_cast<int>(GetParam()));
}

TEST(RehearseAlone, AMissingPlaceIsStillAnError) {
  program::Program program;
  program.values.push_back({"result", 2, 3, core::DType::f32, program::Storage::output});
  runtime::LayerAddresses at;
  at.program = &program;
  at.memory = runtime::Memory::pretended;
  EXPECT_THROW(at.view({0, 0, 2, 0, 3}), core::InternalError);
  std::byte place{};
  at.output = &place;
  EXPECT_EQ(at.view({0, 0, 2, 0, 3}).data, nullptr) << "a view of pretended memory carries no data";
}

TEST(RehearseAlone, TakesNoMemoryForALargeModel) {
  auto model = variant_model({});
  for (auto& layer : model.layers) {
    layer.dims.hidden = 12288;
    layer.dims.head_dim = 1024;
    layer.dims.ffn = 49152;
    layer.dims.vocab = 50257;
    layer.dims.seq = 2048;
  }
  model.vocab = 50257;
  model.seq = 2048;
  const auto plan = uniform_plan(model, 1, 2, 1, 0, spec::Recompute::none, 4, 1);
  const auto rehearsal = runtime::rehearse(plan, model, core::DType::f32, threads);
  EXPECT_GT(rehearsal.peak_bytes(), int64_t{1} << 34) << "sizes are counted in 64 bits";
  check(plan, model);
}

}  // namespace
}  // namespace galvatron::testing
