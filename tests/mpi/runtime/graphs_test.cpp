// Runs of steps that a device is given as a whole: the same bits as step by step, on far devices, whose
// streams refuse while they capture what CUDA's refuse.

#include "runtime/step_graphs.hpp"

#include "comm/device_world.hpp"
#include "comm/mpi/mpi_world.hpp"
#include "core/errors.hpp"
#include "kernels/kernels.hpp"
#include "runtime/loader.hpp"
#include "runtime/session.hpp"
#include "store/dataset.hpp"
#include "support/far_device.hpp"
#include "support/plan_job.hpp"
#include "support/plan_runs.hpp"

namespace galvatron::testing {
namespace {

using runtime::Graphs;

struct Trained {
  std::vector<double> losses, norms;
  int64_t launches = 0;
};

class StepsAsGraphs : public PlanJob {
 protected:
  Trained train(core::DType dtype, Graphs graphs) {
    const auto model = small_model(2, 16, 2, 40, 8);
    // Two ranks make two stages, three replicas.
    const auto plan = world().size() == 2
                          ? uniform_plan(model, 2, 1, 1, 0, spec::Recompute::none, 12, 3)
                          : uniform_plan(model, 1, 1, world().size(), 0, spec::Recompute::none, 12, 2);
    const auto far = test::make_far_device();
    const auto kernels = test::make_far_kernels(*far, 1);
    const auto devices = comm::make_device_world(comm::mpi::make_world(), *far, nullptr);
    runtime::SessionOptions options;
    options.dtype = dtype;
    options.graphs = graphs;
    options.recycled = runtime::Recycled::as_left;
    options.note = [](const std::string& text) { ADD_FAILURE() << text; };
    deck::TrainSection settings;
    settings.loss_scale_growth = 2;
    settings.loss_scale = 64;
    if (dtype == core::DType::f16) settings.precision = "fp16";
    options.loss_scale = runtime::initial_loss_scale(settings);
    runtime::Session session(*devices, *far, *kernels, plan, model, options);
    const auto data = store::make_synthetic_dataset(5, "graphs", 2000, model.vocab);
    runtime::Loader loader(
        *data, [&](int64_t sample) { return sample * (model.seq + 1); }, plan, model, world().rank());
    Trained trained;
    for (int64_t step = 0; step < 6; ++step) {
      loader.seek(step * plan.batch);
      const auto done = session.step(loader, settings, step);
      trained.losses.push_back(done.loss);
      trained.norms.push_back(done.gradient_norm);
    }
    trained.losses.push_back(session.evaluate(loader, plan.microbatches));
    trained.launches = session.graph_launches();
    return trained;
  }
};

TEST_F(StepsAsGraphs, HaveTheBitsOfSteps) {
  for (const auto dtype : {core::DType::f32, core::DType::f16}) {
    SCOPED_TRACE(core::name(dtype));
    const auto by_steps = train(dtype, Graphs::off), by_graphs = train(dtype, Graphs::on);
    EXPECT_EQ(by_graphs.losses, by_steps.losses);
    EXPECT_EQ(by_graphs.norms, by_steps.norms);
    EXPECT_EQ(by_steps.launches, 0);
    EXPECT_GT(by_graphs.launches, 0);
  }
}

class Captured : public ::testing::Test {
 protected:
  /// What a run adds to, `times` times.
  int play(
      runtime::StepGraphs& graphs, int times, const std::function<void()>& also = [] {}) {
    int done = 0;
    for (int i = 0; i < times; ++i)
      graphs.play(layer_, program::Phase::forward, 0, [&] {
        test::give(*stream_, [&] { ++done; });
        also();
      });
    graphs.forget();
    stream_->synchronize();
    return done;
  }

  std::unique_ptr<test::FarDevice> far_ = test::make_far_device();
  std::unique_ptr<device::Stream> stream_ = far_->make_stream(device::StreamUse::compute);
  runtime::LayerAddresses layer_;
  std::vector<std::string> notes_;
};

TEST_F(Captured, IsGivenAsOftenAsItIsPlayed) {
  runtime::StepGraphs graphs(*stream_, [&](const std::string& text) { notes_.push_back(text); });
  EXPECT_EQ(play(graphs, 5), 5);
  EXPECT_EQ(graphs.launches(), 4) << "the first time by steps";
  EXPECT_TRUE(notes_.empty());
}

TEST_F(Captured, IsNothingWhileAddressesChange) {
  runtime::StepGraphs graphs(*stream_, [&](const std::string& text) { notes_.push_back(text); });
  const auto move = [&] {
    layer_.work = layer_.work == nullptr ? reinterpret_cast<std::byte*>(64) : nullptr;
  };
  int done = 0;
  for (int i = 0; i < 4; ++i) {
    graphs.play(layer_, program::Phase::forward, 0, [&] { ++done; });
    move();
  }
  EXPECT_EQ(done, 4) << "never captured";
  EXPECT_EQ(graphs.launches(), 0);
}

TEST_F(Captured, IsGivenUpWhereTheHostWaitsInside) {
  runtime::StepGraphs graphs(*stream_, [&](const std::string& text) { notes_.push_back(text); });
  EXPECT_EQ(play(graphs, 4, [&] { stream_->synchronize(); }), 4) << "nothing is lost, nothing done twice";
  EXPECT_EQ(graphs.launches(), 0);
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("a wait for its work while a far stream captures"), std::string::npos)
      << notes_[0];
}

TEST(HostDevice, CapturesNothing) {
  const auto host = device::make_device(device::DeviceKind::cpu);
  const auto stream = host->make_stream();
  EXPECT_FALSE(stream->captures());
  EXPECT_THROW(stream->begin_capture(), core::InternalError);
}

}  // namespace
}  // namespace galvatron::testing
