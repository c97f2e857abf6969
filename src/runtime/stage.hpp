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
  size_t layers() const { return program_.layers.size(); }
  bool first() const { return program_.stage == 0; }
  bool last() const { return program_.stage + 1 == program_.stages; }

  /// Weights from the counter-based generator keyed by (seed, tensor name, index in the whole tensor): the
  /// same bits under every plan. Of 16-bit precisions the masters alone. They reach the arena through
  /// `window`. Nothing in a rehearsal.
  void initialise(const spec::ModelSpec& model, uint64_t seed, device::HostWindow& window);

  /// Addresses of a layer with the micro-batch in `slot`; output and gradients are up to the caller.
  LayerAddresses& addresses(size_t layer, int64_t slot);
  /// The saved input of a layer in a slot: the place of the output of the layer before it.
  std::byte* input(size_t layer, int64_t slot);
  /// The first layer's saved input, to be filled from a pipeline message.
  device::TensorView received_input(int64_t slot);
  device::TensorView tokens(int64_t slot);
  device::TensorView labels(int64_t slot);

  /// A pipeline message at one of the boundary buffers.
  enum class Boundary { receive_input, send_input_gradient, send_output, receive_output_gradient };
  device::TensorView boundary(Boundary which);
  std::byte* boundary_place(Boundary which);
  /// Gradient buffers between layers; two take turns.
  std::byte* flow(int64_t index) { return flow_ + index % 2 * program_.arena.flow_bytes; }

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
  int64_t boundary_bytes() const;
  void adopt_owned_groups(size_t guest);

  plan::StageProgram program_;
  device::Buffer arena_;
  device::HostBuffer cells_;
  Memory memory_;
  std::byte* base_;  ///< of the arena, real or pretended
  std::unique_ptr<HighWater> water_;
  std::vector<LayerAddresses> addresses_;
  std::byte *persistent_ = nullptr, *slots_ = nullptr, *work_ = nullptr, *gathered_ = nullptr,
            *unreduced_ = nullptr, *flow_ = nullptr, *boundary_ = nullptr;
};

}  // namespace galvatron::runtime
