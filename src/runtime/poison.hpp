#pragma once
// Memory whose contents have died is filled with NaN, so that a read of what is no longer there, or not there
// yet, shows in the loss instead of passing with last time's numbers. Debug builds do it always.

#include <cstdint>

#include "core/build.hpp"
#include "kernels/kernels.hpp"
#include "runtime/stage.hpp"

namespace galvatron::runtime {

/// What happens to memory between two uses.
enum class Recycled : uint8_t { as_left, poisoned };
inline constexpr Recycled recycled_by_default = core::debug_build ? Recycled::poisoned : Recycled::as_left;

/// One call per kind of memory that is used again. Ids of tokens and labels become numbers outside every
/// vocabulary. Asks for no memory.
class Poison {
 public:
  /// All outlive it.
  Poison(Stage& stage, kernels::Kernels& kernels, device::Stream& stream)
      : stage_(stage), kernels_(kernels), stream_(stream) {}

  /// Before a micro-batch is read into a slot.
  void slot(int64_t chunk, int64_t slot);
  /// Before a layer writes what it hands to the next one.
  void flow(int64_t index);
  /// Before a message is written or received.
  void message(int64_t chunk, Stage::Message which);
  /// Work values and workspaces that step number `step` of a phase is the first to touch.
  void work(const LayerAddresses& layer, const std::vector<program::Step>& steps, size_t step);
  /// Gathered parameters of a layer, when a phase that read them has ended.
  void gathered(const LayerAddresses& layer);
  /// Gradients before reduction, when the phase that reduces them has ended; other phases change nothing.
  void unreduced(const LayerAddresses& layer, program::Phase reduced);

 private:
  void fill(std::byte* data, int64_t bytes);

  Stage& stage_;
  kernels::Kernels& kernels_;
  device::Stream& stream_;
};

}  // namespace galvatron::runtime
