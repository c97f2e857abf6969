#pragma once
// From (layer, strategy, shapes) to a finished Program: build the layer's forward, derive its backward, run
// the passes, plan the memory.

#include <cstdint>
#include <optional>
#include <string>

#include "program/program.hpp"

namespace galvatron::program {

/// How a layer that ties its table to another finds it.
enum class TieScope : uint8_t { none, same_stage, across_stages };

/// Everything besides the layer itself that shapes a Program.
struct LayerContext {
  spec::LayerStrategy strategy;
  spec::Coordinate coordinate;
  int64_t samples = 1;  ///< of this rank, per micro-batch
  core::DType dtype = core::DType::f32;
  double loss_scale = 1.0;  ///< 1 / (tokens of the global batch)
  TieScope tie = TieScope::none;
};

/// Bytes of workspace that the kernels need for a step; 0 for most. A parameter, because only the do-rooms
/// know their libraries.
class WorkspaceRule {
 public:
  virtual ~WorkspaceRule() = default;
  virtual int64_t bytes(const Program& program, const Step& step) const = 0;
};

/// No step needs workspace: for tests and for looking at parameters.
class NoWorkspace final : public WorkspaceRule {
 public:
  int64_t bytes(const Program&, const Step&) const override { return 0; }
};

/// Why the layer cannot be split like this (the numbers and the legal degrees in it), or nothing.
/// `samples_per_micro` is the micro-batch of the whole stage.
std::optional<std::string> illegal_reason(const spec::LayerSpec& layer, const spec::LayerStrategy& strategy,
                                          int64_t samples_per_micro);

/// Throws core::UserError when illegal.
Program lower(const spec::LayerSpec& layer, const LayerContext& context, const WorkspaceRule& workspace);

/// The layer's whole tensors, as a single rank holds them.
std::vector<Parameter> parameters_of(const spec::LayerSpec& layer);

}  // namespace galvatron::program
