// Windows are dealt out in batches; places of the last batch that have no window carry no labels.
#include "runtime/validation.hpp"

#include <algorithm>

#include "comm/world.hpp"
#include "core/errors.hpp"

namespace galvatron::runtime {

Validation validation_loss(Session& session, const store::Dataset& data, int64_t windows,
                           const std::function<Request()>& asked) {
  const auto& plan = session.plan();
  const auto seq = session.model().seq;
  GALV_ASSERT(windows > 0 && windows <= data.tokens() / (seq + 1), windows, data.tokens(), seq);
  Loader loader(
      data, [&](int64_t sample) { return sample < windows ? sample * (seq + 1) : -1; }, plan, session.model(),
      session.world().rank());
  Validation result;
  double sum = 0;
  for (int64_t first = 0; first < windows && !result.cut_short(); first += plan.batch) {
    loader.seek(first);
    sum += session.evaluate(loader, plan.microbatches);
    auto strongest = static_cast<int64_t>(asked());
    session.world().all_reduce(std::span(&strongest, 1), core::ReduceOp::max);
    result.request = std::max(result.request, static_cast<Request>(strongest));
  }
  result.loss = sum / (static_cast<double>(windows) * static_cast<double>(seq));
  return result;
}

}  // namespace galvatron::runtime
