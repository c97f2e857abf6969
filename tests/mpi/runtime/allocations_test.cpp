// A training step in the steady state asks for no memory: whatever it needs was taken before or in the first
// steps. Counted are calls of operator new by this program's own code and by header-only libraries inside it;
// what MPI, oneDNN and OpenMP take for themselves is out of our hands.

#include "support/allocations.hpp"

#include "core/format.hpp"
#include "support/plan_job.hpp"
#include "support/trainer_job.hpp"

namespace galvatron::testing {

/// Asks for memory: itself, through the C++ library, and through the formatting library. Outside the unnamed
/// namespace, so that it has a name to be reported by.
[[gnu::noinline]] size_t ask_for_memory(size_t size) {
  const auto number = std::make_unique<size_t>(size);
  const std::string text(*number, 'x');
  const auto formatted = core::format("{:>1000}", text);
  return formatted.size();
}

namespace {

/// Steps before counting, and counted ones: first uses are over after the former.
constexpr int64_t settled = 3, counted_steps = 3;
constexpr int64_t batch = 12;

runtime::OverlapSettings overlap_everywhere(runtime::Overlap wish) {
  return {wish, wish, wish, wish};
}

class AllocationCount : public PlanJob {
 protected:
  void expect_none(const Allocations& found, const std::string& what) {
    std::string callers;
    for (const auto& caller : found.callers) callers += "\n  asked for by " + caller;
    EXPECT_EQ(found.ours, 0) << "on rank " << world().rank() << ", " << what << callers;
  }

  void play(const plan::Plan& plan, const spec::ModelSpec& model, core::DType dtype,
            runtime::Overlap overlap) {
    const auto what = core::format("{} in {}, overlap {}", describe(plan), core::name(dtype),
                                   overlap == runtime::Overlap::on ? "on" : "off");
    const auto device = device::make_device(device::DeviceKind::cpu);
    const auto kernels = kernels::make_kernels(*device, 1);
    const auto data = store::make_synthetic_dataset(3, "allocations", 20000, model.vocab);
    runtime::SessionOptions options;
    options.dtype = dtype;
    options.overlap = overlap_everywhere(overlap);
    runtime::Session session(world(), *device, *kernels, plan, model, options);
    runtime::Loader loader(
        *data, [&](int64_t sample) { return sample * (model.seq + 1); }, plan, model, world().rank());
    auto train = adamw_run().train;
    if (dtype == core::DType::f16) train.precision = "fp16";
    for (int64_t step = 0; step < settled + counted_steps; ++step) {
      if (step == settled) start_counting();
      loader.seek(step * plan.batch);
      session.step(loader, train, step);
    }
    expect_none(stop_counting(), what);
  }

  /// Every plan in one precision and one way of overlapping; over all plans each of them occurs often.
  void play_in_turn(const std::vector<plan::Plan>& plans, const spec::ModelSpec& model) {
    constexpr core::DType types[] = {core::DType::f32, core::DType::bf16, core::DType::f16};
    constexpr runtime::Overlap overlaps[] = {runtime::Overlap::on, runtime::Overlap::off};
    for (size_t i = 0; i < plans.size(); ++i) play(plans[i], model, types[i % 3], overlaps[i % 2]);
  }
};

TEST_F(AllocationCount, SeesWhatThisProgramAsksFor) {
  start_counting();
  EXPECT_EQ(ask_for_memory(800), 1000U);
  const auto found = stop_counting();
  EXPECT_GE(found.ours, 3);
  ASSERT_FALSE(found.callers.empty());
  EXPECT_NE(found.callers.front().find("ask_for_memory"), std::string::npos) << found.callers.front();
}

TEST_F(AllocationCount, IsZeroInASteadyStepOfEveryPrecision) {
  const auto model = variant_model({});
  const auto ranks = static_cast<int32_t>(world().size());
  for (const auto dtype : {core::DType::f32, core::DType::bf16, core::DType::f16, core::DType::f64})
    for (const auto overlap : {runtime::Overlap::on, runtime::Overlap::off})
      for (const int32_t zero : {1, 3})
        play(uniform_plan(model, 1, 1, ranks, ranks > 1 ? zero : 0, spec::Recompute::none, batch, 2), model,
             dtype, overlap);
}

TEST_F(AllocationCount, IsZeroInASteadyStepOfEveryAxis) {
  for (const auto& variant : {Variant{}, llama}) {
    const auto model = variant_model(variant);
    play_in_turn(pairwise_cover(uniform_plans(model, world().size(), batch, {2, 3})), model);
  }
}

TEST_F(AllocationCount, IsZeroInASteadyStepOfEverySchedule) {
  const auto model = variant_model({});
  play_in_turn(pairwise_cover(schedule_plans(model, world().size(), batch)), model);
}

TEST_F(AllocationCount, IsZeroInASteadyStepOfLayoutsThatChange) {
  const auto model = variant_model({});
  std::vector<plan::Plan> plans;
  for (uint64_t i = 0; i < 6; ++i) plans.push_back(mixed_plan(model, world().size(), batch, test_seed(), i));
  say_seed();
  play_in_turn(plans, model);
}

TEST_F(AllocationCount, IsZeroBetweenTheLinesOfATrainingRun) {
  const auto model = variant_model({});
  deck::DeckValues deck;
  deck.train.steps = settled + counted_steps + 1;
  deck.train.warmup = 1;
  deck.train.log_every = deck.train.steps;  // a line is text: it asks for memory
  deck.checkpoint.every = 0;
  const auto ranks = static_cast<int32_t>(world().size());
  const auto plan = uniform_plan(model, 1, 1, ranks, 0, spec::Recompute::none, batch, 1);
  TrainerJob trainer(world(), deck, model, plan);
  auto job = trainer.job();
  job.valid_data = nullptr;
  int64_t step = 0;
  Allocations found;
  job.requests = [&] {
    if (step == settled) start_counting();
    if (step == settled + counted_steps) found = stop_counting();
    ++step;
    return runtime::Request::none;
  };
  runtime::train(job);
  EXPECT_EQ(step, deck.train.steps) << "asked once per step";
  expect_none(found, "the training loop");
}

}  // namespace
}  // namespace galvatron::testing
