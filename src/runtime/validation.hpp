#pragma once
// The loss on data that are not trained on, exact under every plan: each window counts once, whoever computes
// it and however the last batch falls.

#include <cstdint>

#include "runtime/session.hpp"
#include "store/dataset.hpp"

namespace galvatron::runtime {

/// Collective: mean loss in nats per token over the first `windows` windows of seq + 1 tokens, in file order.
double validation_loss(Session& session, const store::Dataset& data, int64_t windows);

}  // namespace galvatron::runtime
