// The assembly line: legality, tape, passes, backward, workspace, memory.

#include "program/lower.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"
#include "program/assemble.hpp"
#include "program/layers/kinds.hpp"
#include "program/layers/rules.hpp"
#include "program/memory.hpp"
#include "program/passes/pass.hpp"

namespace galvatron::program {
namespace {

/// Runs the layer's forward and closes the tape.
Tape record(const spec::LayerSpec& layer, const LayerContext& context) {
  Builder builder(layer, context);
  const auto output = layer_kind(layer.kind).forward(builder);
  return builder.finish(output);
}

void attach_workspace(Program& program, const WorkspaceRule& rule) {
  for (const auto phase : all_phases) {
    for (size_t i = 0; i < program.steps(phase).size(); ++i) {
      const auto bytes = rule.bytes(program, program.steps(phase)[i]);
      if (bytes <= 0) continue;
      program.values.push_back({"workspace", 1, bytes, core::DType::u8, Storage::work});
      program.steps(phase)[i].workspace = {static_cast<ValueId>(program.values.size()) - 1, 0, 1, 0, bytes};
    }
  }
}

}  // namespace

std::optional<std::string> illegal_reason(const spec::LayerSpec& layer, const spec::LayerStrategy& s,
                                          int64_t samples_per_micro) {
  const auto& kind = layer_kind(layer.kind);
  for (const auto& [axis, degree] :
       {std::pair("tp", s.tp), {"sp", s.sp}, {"cp", s.cp}, {"dp", s.dp}, {"ep", s.ep}})
    if (degree < 1) return core::format("{} = {} must be at least 1", axis, degree);
  if (s.zero < 0 || s.zero > 3) return core::format("zero = {} must be 0, 1, 2 or 3", s.zero);
  if (s.ep > 1) return core::format("ep = {}: no layer kind has experts to deal", s.ep);
  std::vector<std::string> reasons;
  if (s.dp > samples_per_micro)
    reasons.push_back(
        core::format("dp = {} exceeds the {} samples of a micro-batch", s.dp, samples_per_micro));
  const auto pieces = int64_t{s.tp} * s.sp;
  if (s.cp > 1) {
    if (auto reason = must_divide("seq", layer.dims.seq, s.sp > 1 ? "2 · cp · sp · tp" : "2 · cp · tp",
                                  2 * s.cp * pieces))
      reasons.push_back(*reason);
  } else if (auto reason = must_divide("seq", layer.dims.seq, s.sp > 1 ? "sp · tp" : "tp", pieces)) {
    reasons.push_back(*reason);
  }
  if (auto reason = kind.illegal(layer.dims, s)) reasons.push_back(*reason);
  if (reasons.empty()) return std::nullopt;
  return core::join(reasons, "; ");
}

Program lower(const spec::LayerSpec& layer, const LayerContext& context, const WorkspaceRule& workspace) {
  if (const auto reason = illegal_reason(layer, context.strategy, context.samples * context.strategy.dp))
    throw core::UserError(core::format("layer '{}' cannot be split as {}: {}", layer.kind,
                                       spec::to_string(context.strategy), *reason));
  auto tape = record(layer, context);
  assign_groups(tape, context);
  for (const auto& pass : passes())
    if (pass.on_tape) pass.on_tape(tape);
  auto program = Assembler(std::move(tape)).assemble();
  for (const auto& pass : passes())
    if (pass.on_program) pass.on_program(program);
  attach_workspace(program, workspace);
  plan_memory(program);
  return program;
}

std::vector<Parameter> parameters_of(const spec::LayerSpec& layer) {
  const auto tape = record(layer, {});
  std::vector<Parameter> parameters;
  for (const auto& weight : tape.weights) parameters.push_back(weight.parameter);
  return parameters;
}

}  // namespace galvatron::program
