// Ranks are rehearsed one after the other; what they said to each other is compared at the end.

#include "runtime/rehearse.hpp"

#include <algorithm>

#include "comm/dry/dry_world.hpp"
#include "runtime/session.hpp"

namespace galvatron::runtime {
namespace {

/// There are no tokens where nothing is computed.
class NoTokens final : public MicroBatchSource {
 public:
  void tokens(int64_t, device::TensorView) override {}
  void labels(int64_t, device::TensorView) override {}
};

Rehearsal::Rank rehearse_rank(int rank, const plan::Plan& plan, const spec::ModelSpec& model,
                              core::DType dtype, int threads, comm::dry::Ledger& ledger) {
  const auto world = comm::dry::make_world(rank, static_cast<int>(plan.world), 1, ledger);
  const auto device = device::make_device(device::DeviceKind::dry);
  const auto kernels = kernels::make_kernels(*device, threads);
  SessionOptions options;
  options.dtype = dtype;
  Session session(*world, *device, *kernels, plan, model, options);
  NoTokens source;
  session.step(source, deck::TrainSection{}, 0);
  session.evaluate(source, plan.microbatches);
  Rehearsal::Rank result;
  result.planned_bytes = session.stage().planned_bytes();
  result.high_water_bytes = session.stage().high_water_bytes();
  result.device_bytes = device->peak_bytes();
  result.calls = static_cast<int64_t>(ledger.calls(rank).size());
  return result;
}

}  // namespace

int64_t Rehearsal::peak_bytes() const {
  int64_t peak = 0;
  for (const auto& rank : ranks) peak = std::max(peak, rank.high_water_bytes);
  return peak;
}

Rehearsal rehearse(const plan::Plan& plan, const spec::ModelSpec& model, core::DType dtype, int threads) {
  comm::dry::Ledger ledger;
  Rehearsal result;
  for (int rank = 0; rank < static_cast<int>(plan.world); ++rank)
    result.ranks.push_back(rehearse_rank(rank, plan, model, dtype, threads, ledger));
  ledger.check();
  return result;
}

}  // namespace galvatron::runtime
