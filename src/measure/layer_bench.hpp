#pragma once
// One Program with memory of its own, outside any stage: its compute steps can be played and timed one by
// one, in their order, so that each finds the caches as training leaves them.

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "measure/worklist.hpp"
#include "program/program.hpp"
#include "runtime/addresses.hpp"
#include "runtime/sections.hpp"
#include "runtime/step_player.hpp"

namespace galvatron::measure {

/// Bytes that playing the Program takes: what its layer needs of a stage, with room for the parameters that
/// another layer would own.
int64_t bench_bytes(const program::Program& program);

class LayerBench {
 public:
  /// Throws core::ResourceError when there is no memory for it.
  LayerBench(device::Device& device, kernels::Kernels& kernels, const program::Program& program);

  /// Plays every compute step of every phase once; appends the seconds of each to `times`. Collectives are
  /// left out: other curves price them.
  void play(std::map<StepPoint, std::vector<double>>& times);
  /// Plays every compute step of some phases once, untimed.
  void play(std::span<const program::Phase> phases);
  /// Plays every product, together with its epilogue where it has one, and every attention once, untimed.
  void play_chosen();

 private:
  void lay_out();
  void fill(device::Device& device);

  const program::Program& program_;
  kernels::Kernels& kernels_;
  device::Buffer memory_;
  std::unique_ptr<device::Stream> stream_;
  runtime::SectionTimes sections_;
  runtime::StepPlayer player_;
  runtime::LayerAddresses addresses_;
  std::vector<std::vector<StepPoint>> points_;  ///< per phase and step; empty key = a collective
};

/// The bench, or null when there is no memory for it: a finding, not an error. `memory_bytes`: what it may
/// take; 0 = try. Local.
std::unique_ptr<LayerBench> make_bench(device::Device& device, kernels::Kernels& kernels,
                                       const program::Program& program, int64_t memory_bytes);

}  // namespace galvatron::measure
