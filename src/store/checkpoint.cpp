// The small values of the checkpoint interface.
#include "store/checkpoint.hpp"

#include "core/errors.hpp"

namespace galvatron::store {

int64_t TensorInfo::elements() const {
  int64_t product = 1;
  for (const auto extent : shape) product *= extent;
  return product;
}

CheckpointIo parse_checkpoint_io(const std::string& text) {
  if (text == "auto") return CheckpointIo::automatic;
  if (text == "aggregate") return CheckpointIo::aggregate;
  throw core::UserError("checkpoint.io = \"" + text + "\": this build writes with \"auto\" or \"aggregate\"");
}

}  // namespace galvatron::store
