#pragma once
// A trained model goes on with a row of ids: one at a time, each from the logits of the last position of a
// window of at most seq ids, computed anew every time.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/session.hpp"

namespace galvatron::runtime {

struct SamplingOptions {
  double temperature = 1.0;  ///< logits are divided by it; 0: always the most likely id
  int64_t top_k = 0;         ///< only the so many most likely ids are drawn from; 0: all
  uint64_t seed = 0;
};

/// Id number `place` of a text: a draw by counter, so that it depends on the logits, the options and the
/// place alone. Equally likely ids are taken in order.
int32_t sample_id(std::span<const double> logits, const SamplingOptions& options, int64_t place);

/// Collective: `count` ids that follow `prompt` (at least one id), the same on every rank. `made` is told
/// each of them. Any plan will do; of a batch one sample is used.
std::vector<int32_t> generate(Session& session, std::vector<int32_t> prompt, int64_t count,
                              const SamplingOptions& options, const std::function<void(int32_t)>& made);

}  // namespace galvatron::runtime
