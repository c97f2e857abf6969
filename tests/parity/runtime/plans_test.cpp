// Every plan computes what one rank computes: gradients of the first step, parameters after plain SGD steps,
// loss and gradient norm over AdamW steps with clipping, evaluation; and the memory that was planned is the
// memory that is reached.

#include <gtest/gtest.h>

#include <cmath>

#include "support/plan_runs.hpp"

namespace galvatron::testing {
namespace {

using spec::Recompute;

constexpr int64_t batch = 12;

spec::ModelSpec model() {
  return small_model(2, 24, 6, 37, 12);
}

RunOptions sgd() {
  RunOptions options;
  options.steps = 5;
  options.train.optimizer = "sgd";
  options.train.lr = options.train.min_lr = 0.05;
  options.train.warmup = 0;
  options.train.clip = 0;
  return options;
}

RunOptions adamw() {
  RunOptions options;
  options.steps = 20;
  options.train.lr = 1e-2;
  options.train.min_lr = 1e-3;
  options.train.warmup = 5;
  options.train.steps = 20;
  options.train.clip = 0.3;
  return options;
}

/// ‖Δ‖ ≤ tolerance · max(‖g‖, 1e-3 · ‖g_all‖ / √tensors): some true gradients are zero (a key's bias).
void expect_close(const std::vector<Deviation>& list, double tolerance, const std::string& what) {
  double all = 0;
  for (const auto& d : list) all += d.reference * d.reference;
  const auto floor = 1e-3 * std::sqrt(all / static_cast<double>(list.size()));
  for (const auto& d : list)
    EXPECT_LE(d.difference, tolerance * std::max(d.reference, floor))
        << what << " of " << d.tensor << ", reference " << d.reference;
}

std::string describe(const plan::Plan& plan) {
  return std::to_string(plan.stages.size()) + " stages, " + std::to_string(plan.microbatches) +
         " micro-batches, " + spec::to_string(plan.layers[1]);
}

class PlanParity : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = device::make_device(device::DeviceKind::cpu);
    world_ = comm::make_mpi_world(*device_);
  }

  void check(const plan::Plan& plan) {
    SCOPED_TRACE(describe(plan));
    const auto small = model();
    if (sgd_reference_.losses.empty()) {
      sgd_reference_ = run_single(batch, small, sgd());
      adamw_reference_ = run_single(batch, small, adamw());
    }
    const auto faults = plan::faults_of(plan, small, world_->size());
    ASSERT_TRUE(faults.empty()) << faults.front();
    const auto plain = run_plan(*world_, plan, small, sgd());
    expect_close(deviations(*world_, sgd_reference_.gradients, plain.gradients), 1e-5, "gradient");
    expect_close(deviations(*world_, sgd_reference_.weights, plain.weights), 1e-5, "weights after SGD");
    EXPECT_NEAR(plain.evaluation, sgd_reference_.evaluation, 1e-5 * std::abs(sgd_reference_.evaluation));
    const auto adam = run_plan(*world_, plan, small, adamw());
    EXPECT_EQ(adam.planned_bytes, adam.high_water_bytes) << "on rank " << world_->rank();
    for (size_t i = 0; i < adam.losses.size(); ++i) {
      EXPECT_NEAR(adam.losses[i], adamw_reference_.losses[i], 1e-6 * adamw_reference_.losses[i])
          << "loss of step " << i;
      EXPECT_NEAR(adam.gradient_norms[i], adamw_reference_.gradient_norms[i],
                  2e-6 * adamw_reference_.gradient_norms[i])
          << "gradient norm of step " << i;
    }
  }

  std::unique_ptr<device::Device> device_;
  std::unique_ptr<comm::World> world_;
  static RunResult sgd_reference_, adamw_reference_;
};

RunResult PlanParity::sgd_reference_, PlanParity::adamw_reference_;

TEST_F(PlanParity, UniformPlansEqualOneRank) {
  const int32_t n = world_->size();
  for (int32_t pp = 1; pp <= n; ++pp)
    for (int32_t tp = 1; tp <= n / pp; ++tp) {
      if (n % (pp * tp) != 0) continue;
      const int32_t dp = n / (pp * tp);
      for (int32_t zero = 0; zero <= 3; ++zero)
        for (const auto recompute : {Recompute::none, Recompute::full})
          for (const int64_t micros : {1, 2, 3}) {
            if (batch / micros < dp || 6 % tp != 0) continue;
            // Six ranks: every pair of (ZeRO level, recompute), (level, micro-batches), (recompute,
            // micro-batches) occurs.
            if (n > 4 && (zero + (recompute == Recompute::full ? 1 : 0) + micros) % 3 != 0) continue;
            check(uniform_plan(model(), pp, tp, dp, zero, recompute, batch, micros));
          }
    }
}

}  // namespace
}  // namespace galvatron::testing
