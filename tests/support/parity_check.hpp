#pragma once
// One plan held against one rank: what "every plan computes what one rank computes" means in numbers. The
// single-rank runs are made once per model and kept.

#include <map>
#include <string>

#include "support/plan_runs.hpp"

namespace galvatron::testing {

/// Five plain SGD steps: AdamW hides errors in a gradient's scale.
RunOptions sgd_run();
/// Twenty AdamW steps (or fewer) with warm-up, decay and clipping active.
RunOptions adamw_run(int64_t steps = 20);

/// Per tensor ‖Δ‖ ≤ tolerance · max(‖g‖, floor · ‖g_all‖ / √tensors); norms of layers without the floor:
/// theirs are never near zero.
void expect_close(const std::vector<Deviation>& list, double tolerance, const std::string& what);
/// Number by number |Δ| ≤ tolerance · |expected|.
void expect_series(const std::vector<double>& got, const std::vector<double>& expected, double tolerance,
                   const std::string& what);

class ParityCheck {
 public:
  /// All ranks of `world` check the same plans in the same order.
  explicit ParityCheck(comm::World& world) : world_(world) {}

  /// Gradients of the first step, weights after SGD, evaluation, memory; fp32.
  void gradients(const plan::Plan& plan, const spec::ModelSpec& model);
  /// Loss and gradient norm of every AdamW step, evaluation after them, memory; fp32.
  void training(const plan::Plan& plan, const spec::ModelSpec& model);
  /// All of the above for `steps` AdamW steps within the fp64 bound.
  void fp64(const plan::Plan& plan, const spec::ModelSpec& model, int64_t steps);

 private:
  const RunResult& single(const plan::Plan& plan, const spec::ModelSpec& model, const std::string& name,
                          const RunOptions& options);

  comm::World& world_;
  std::map<std::string, RunResult> singles_;
};

}  // namespace galvatron::testing
