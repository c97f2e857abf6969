#pragma once
// This rank's part of the model: one arena, laid out by the plan, and the addresses in it.

#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "device/host_window.hpp"
#include "plan/lowering.hpp"
#include "runtime/addresses.hpp"
#include "runtime/high_water.hpp"

namespace galvatron::runtime {

class Stage {
 public:
  /// Allocates the arena, zero-filled; on a dry device it is counted and pretended. Throws
  /// core::ResourceError with the sizes when it does not fit.
  Stage(device::Device& device, plan::StageProgram program);

  const plan::StageProgram& program() const { return program_; }
  /// Layers and transitions of all chunks, chunk after chunk.
  size_t layers() const { return program_.layers.size(); }
  const plan::Chunk& chunk(int64_t index) const { return program_.chunks[static_cast<size_t>(index)]; }

  /// Weights from the counter-based generator keyed by (seed, tensor name, index in the whole tensor): the
  /// same bits under every plan. Of 16-bit precisions the masters alone. They reach the arena through
  /// `window`. Nothing in a rehearsal.
  void initialise(const spec::ModelSpec& model, uint64_t seed, device::HostWindow& window);

  /// Addresses of a layer with the micro-batch in `slot` of its chunk; input, output and gradients are up to
  /// the caller.
  LayerAddresses& addresses(size_t layer, int64_t slot);
  /// The parameters, gradients and optimizer state of a layer alone: the same for every micro-batch, so any
  /// thread may look at it.
  const LayerAddresses& state_of(size_t layer) const { return addresses_[layer]; }
  /// Which of the two buffers a layer gathers its parameters into, and which holds its gradients before
  /// reduction.
  int64_t gather_buffer(size_t layer) const { return program_.layers[layer].gather_buffer; }
  int64_t reduce_buffer(size_t layer) const { return program_.layers[layer].reduce_buffer; }
  /// Whether a layer keeps its input for backward. A transition does not.
  bool saves_input(size_t layer) const;
  /// Where a layer's saved input lies in a slot: the place of the output of the layer before it.
  std::byte* saved_input(size_t layer, int64_t slot);
  /// The same, to be filled from a pipeline message.
  device::TensorView received_input(size_t layer, int64_t slot);
  /// Of a layer that reads them.
  device::TensorView tokens(size_t layer, int64_t slot);
  device::TensorView labels(size_t layer, int64_t slot);

  /// A pipeline message in one of a chunk's buffers.
  enum class Message { input, input_gradient, output, output_gradient };
  device::TensorView message(int64_t chunk, Message which);
  std::byte* message_place(int64_t chunk, Message which);
  /// A slot of a chunk, its slot_bytes long.
  std::byte* slot(int64_t chunk, int64_t number) {
    return slots_[static_cast<size_t>(chunk)] + number * this->chunk(chunk).slot_bytes;
  }
  /// What number `index` of a chunk hands to the next one: activations that are not saved, and gradients. Two
  /// buffers take turns.
  std::byte* flow(int64_t index) { return flow_ + index % 2 * program_.arena.flow_bytes[0]; }

  /// Σ of token losses and Σ of squared gradients so far on this rank. They lie in host memory that kernels
  /// reach: to be read after the stream was synchronised, to be set while no step that adds to them is under
  /// way.
  double& loss() { return cell(0); }
  double& gradient_norm() { return cell(1); }

  int64_t planned_bytes() const { return program_.arena.total(); }
  int64_t high_water_bytes() const;

 private:
  void lay_out();
  void initialise_group(size_t layer, size_t group, const spec::ModelSpec& model, uint64_t seed,
                        device::HostWindow& window);
  double& cell(int64_t index) { return reinterpret_cast<double*>(cells_.data())[index]; }
  void adopt_owned_groups(size_t guest);
  device::TensorView ids(size_t layer, int64_t slot, program::ValueId program::Program::*which);

  plan::StageProgram program_;
  device::Buffer arena_;
  device::HostBuffer cells_;
  Memory memory_;
  std::byte* base_;  ///< of the arena, real or pretended
  std::unique_ptr<HighWater> water_;
  std::vector<LayerAddresses> addresses_;
  std::vector<int64_t> chunk_of_;  ///< per layer
  std::vector<std::byte*> slots_;  ///< per chunk
  std::byte *persistent_ = nullptr, *work_ = nullptr, *flow_ = nullptr, *boundary_ = nullptr;
};

}  // namespace galvatron::runtime
