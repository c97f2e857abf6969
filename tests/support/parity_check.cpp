// The comparisons themselves; the bounds are in tolerances.hpp.

#include "support/parity_check.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/plan_space.hpp"
#include "support/tolerances.hpp"

namespace galvatron::testing {

void expect_close(const std::vector<Deviation>& list, double tolerance, const std::string& what) {
  double all = 0;
  for (const auto& d : list) all += d.reference * d.reference;
  const auto floor = tolerance::gradient_floor * std::sqrt(all / static_cast<double>(list.size()));
  for (const auto& d : list) {
    const bool norm = d.tensor.find(".norm.") != std::string::npos;
    const auto bound = tolerance * (norm ? d.reference : std::max(d.reference, floor));
    EXPECT_LE(d.difference, bound) << what << " of " << d.tensor << ", reference " << d.reference;
  }
}

namespace {

void expect_near(double got, double expected, double tolerance, const std::string& what) {
  EXPECT_NEAR(got, expected, tolerance * std::abs(expected)) << what;
}

}  // namespace

void expect_series(const std::vector<double>& got, const std::vector<double>& expected, double tolerance,
                   const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    expect_near(got[i], expected[i], tolerance, what + " of step " + std::to_string(i));
}

namespace {

void expect_planned(const RunResult& run) {
  EXPECT_EQ(run.high_water_bytes, run.planned_bytes) << "memory reached and planned";
}

}  // namespace

RunOptions sgd_run() {
  RunOptions options;
  options.steps = 5;
  options.train.optimizer = "sgd";
  options.train.lr = options.train.min_lr = 0.05;
  options.train.warmup = 0;
  options.train.clip = 0;
  return options;
}

RunOptions adamw_run(int64_t steps) {
  RunOptions options;
  options.steps = steps;
  // AdamW turns the rounding of a gradient that is nearly zero into a step of the whole learning rate: a
  // larger one would make the bounds a matter of luck.
  options.train.lr = 3e-3;
  options.train.min_lr = 3e-4;
  options.train.warmup = 5;
  options.train.steps = 20;
  options.train.clip = 0.3;
  return options;
}

const RunResult& ParityCheck::single(const plan::Plan& plan, const spec::ModelSpec& model,
                                     const std::string& name, const RunOptions& options) {
  auto [found, fresh] = singles_.try_emplace(
      name + " " + spec::fingerprint(model) + " " + std::to_string(plan.batch), RunResult{});
  if (fresh) found->second = run_single(plan.batch, model, options);
  return found->second;
}

void ParityCheck::gradients(const plan::Plan& plan, const spec::ModelSpec& model) {
  SCOPED_TRACE(describe(plan));
  const auto& expected = single(plan, model, "sgd", sgd_run());
  const auto run = run_plan(world_, plan, model, sgd_run());
  expect_close(deviations(world_, expected.gradients, run.gradients), tolerance::gradient, "gradient");
  expect_close(deviations(world_, expected.weights, run.weights), tolerance::weights_after_sgd,
               "weights after SGD");
  expect_near(run.evaluation, expected.evaluation, tolerance::evaluation, "evaluation");
  expect_planned(run);
}

void ParityCheck::training(const plan::Plan& plan, const spec::ModelSpec& model) {
  SCOPED_TRACE(describe(plan));
  const auto& expected = single(plan, model, "adamw", adamw_run());
  const auto run = run_plan(world_, plan, model, adamw_run());
  EXPECT_GT(expected.gradient_norms.front(), adamw_run().train.clip) << "clipping is not active";
  expect_series(run.losses, expected.losses, tolerance::loss, "loss");
  expect_series(run.gradient_norms, expected.gradient_norms, tolerance::gradient_norm, "gradient norm");
  expect_near(run.evaluation, expected.evaluation, tolerance::evaluation, "evaluation");
  expect_planned(run);
}

void ParityCheck::fp64(const plan::Plan& plan, const spec::ModelSpec& model, int64_t steps) {
  SCOPED_TRACE(describe(plan));
  auto options = adamw_run(steps);
  options.dtype = core::DType::f64;
  const auto& expected = single(plan, model, "fp64 " + std::to_string(steps), options);
  const auto run = run_plan(world_, plan, model, options);
  expect_close(deviations(world_, expected.gradients, run.gradients), tolerance::fp64, "gradient");
  expect_series(run.losses, expected.losses, tolerance::fp64, "loss");
  expect_series(run.gradient_norms, expected.gradient_norms, tolerance::fp64, "gradient norm");
  expect_near(run.evaluation, expected.evaluation, tolerance::fp64, "evaluation");
  expect_planned(run);
}

}  // namespace galvatron::testing
