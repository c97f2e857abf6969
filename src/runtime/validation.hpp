#pragma once
// The loss on data that are not trained on, exact under every plan: each window counts once, whoever computes
// it and however the last batch falls.

#include <cstdint>
#include <functional>

#include "runtime/session.hpp"
#include "store/dataset.hpp"

namespace galvatron::runtime {

struct Validation {
  double loss = 0;                  ///< mean, nats per token; of no use when it was cut short
  Request request = Request::none;  ///< the strongest of all ranks

  bool cut_short() const { return request >= Request::stop_user; }
};

/// Collective: the loss over the first `windows` windows of seq + 1 tokens, in file order. `asked` is what is
/// asked of this rank; between two batches a stop ends it.
Validation validation_loss(
    Session& session, const store::Dataset& data, int64_t windows,
    const std::function<Request()>& asked = [] { return Request::none; });

}  // namespace galvatron::runtime
