#pragma once
// Runs of a small model under any plan, and what they left behind as whole tensors: the ground on which
// "every plan computes what one rank computes" is tested.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "deck/sections.hpp"
#include "plan/plan.hpp"
#include "runtime/session.hpp"
#include "runtime/snapshot.hpp"
#include "spec/model.hpp"
#include "store/dataset.hpp"

namespace galvatron::testing {

/// Values of whole tensors by name; NaN where another rank has them.
using Tensors = std::map<std::string, std::vector<double>>;

/// Element i of a whole tensor ("model/…").
using InitialWeight = std::function<double(const store::TensorInfo& tensor, int64_t i)>;

struct RunOptions {
  core::DType dtype = core::DType::f32;
  int64_t steps = 1;
  deck::TrainSection train;
  uint64_t seed = 7;
  runtime::OverlapSettings overlap = {};
  runtime::Recycled recycled = runtime::recycled_by_default;
  /// Tokens to train on instead of the seeded ones: sample n begins at n · (seq + 1).
  const store::Dataset* data = nullptr;
  /// First weights instead of the seeded ones.
  InitialWeight initial;
};

struct RunResult {
  std::vector<double> losses, gradient_norms;
  std::vector<store::TensorInfo> tensors;
  /// Step 0's gradients and the final weights, whole on a single rank; elsewhere each rank's own pieces (the
  /// rest is NaN).
  Tensors gradients, weights;
  /// Everything that this rank holds of the final weights and moments, copies of others' included.
  Tensors held;
  double evaluation = 0;
  int64_t planned_bytes = 0, high_water_bytes = 0;
};

/// A GPT of `blocks` blocks whose initial weights are large enough that gradients of queries and keys matter
/// (1 % of the whole), and small enough that fp32 rounding of the key bias' gradient, whose true value is
/// zero, stays below the tests' floor.
spec::ModelSpec small_model(int64_t blocks, int64_t hidden, int64_t heads, int64_t vocab, int64_t seq);

/// Collective: gives a session other weights, wherever this rank holds them.
void set_weights(runtime::Session& session, const std::vector<store::TensorInfo>& tensors,
                 const InitialWeight& initial);

/// Collective over `world`.
RunResult run_plan(comm::World& world, const plan::Plan& plan, const spec::ModelSpec& model,
                   const RunOptions& options);

/// Alone on this rank, whatever else is running.
RunResult run_single(int64_t batch, const spec::ModelSpec& model, const RunOptions& options);

/// Collective over `world`: Σ of token losses of the first `samples` samples of a batch at the initial
/// weights; the rest of the batch does not exist.
double evaluate_initial(comm::World& world, const plan::Plan& plan, const spec::ModelSpec& model,
                        int64_t samples);

/// One plan in which every layer has the same strategy; stages of nearly equal numbers of layers.
plan::Plan uniform_plan(const spec::ModelSpec& model, int64_t pp, int32_t tp, int32_t dp, int32_t zero,
                        spec::Recompute recompute, int64_t batch, int64_t micros);

struct Deviation {
  std::string tensor;
  double difference = 0, reference = 0;  ///< 2-norms over all ranks
};

/// Collective: the 2-norms of difference and reference of each tensor, the same on every rank.
std::vector<Deviation> deviations(comm::World& world, const Tensors& reference, const Tensors& parts);

}  // namespace galvatron::testing
