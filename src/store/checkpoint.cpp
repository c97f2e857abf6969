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
  using enum CheckpointIo;
  for (const auto io : {automatic, aggregate, independent, collective})
    if (text == name_of(io)) return io;
  throw core::UserError("checkpoint.io = \"" + text +
                        "\": legal are auto, aggregate, independent and collective");
}

std::string_view name_of(CheckpointIo io) {
  switch (io) {
    case CheckpointIo::automatic:
      return "auto";
    case CheckpointIo::aggregate:
      return "aggregate";
    case CheckpointIo::independent:
      return "independent";
    case CheckpointIo::collective:
      return "collective";
  }
  return "?";
}

}  // namespace galvatron::store
