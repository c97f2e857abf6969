// Parameters with the same replicas share one flat buffer: one collective synchronises them, and ZeRO cuts
// them together. Those that tp does not split are replicated over tp too, so their replica group is simply
// larger; nothing else treats them specially.

#include <algorithm>

#include "core/errors.hpp"
#include "program/assemble.hpp"

namespace galvatron::program {
namespace {

using spec::Axis;
using spec::AxisSet;

/// Index among the ranks that differ in `axes`, ascending by rank: mixed radix, tp fastest.
int32_t index_in(AxisSet axes, const spec::LayerStrategy& s, const spec::Coordinate& c) {
  int32_t index = 0, stride = 1;
  auto digit = [&](Axis axis, int32_t degree, int32_t position) {
    if (!axes.contains(axis)) return;
    index += stride * position;
    stride *= degree;
  };
  digit(Axis::tp, s.tp, c.tp);
  digit(Axis::sp, s.sp, c.sp);
  digit(Axis::cp, s.cp, c.cp);
  digit(Axis::dp, s.dp, c.dp);
  return index;
}

ParameterGroup make_group(const DeclaredWeight& weight, const Program& program, const LayerContext& context) {
  const auto& s = context.strategy;
  ParameterGroup group;
  const bool over_tp = s.tp > 1 && !weight.split;
  group.name = !weight.group.empty() ? weight.group : (over_tp ? "replicated" : "main");
  group.axes = Axis::dp | Axis::cp | AxisSet(Axis::sp);
  if (over_tp) group.axes = group.axes | AxisSet(Axis::tp);
  group.replicas = s.dp * s.cp * s.sp * (over_tp ? s.tp : 1);
  group.replica_index = index_in(group.axes, s, context.coordinate);
  group.gradient_phase = weight.gradient_phase;
  group.dtype = program.dtype;
  const bool tied = !weight.group.empty() && context.tie != TieScope::none;
  if (tied && context.tie == TieScope::across_stages) {
    // The first stage's holders come first, then the last stage's.
    if (!weight.parameter.owner.empty()) group.replica_index += group.replicas;
    group.axes = group.axes | AxisSet(Axis::tie);
    group.replicas *= 2;
    group.tie = TieRole::across;
  } else if (tied) {
    group.tie = weight.parameter.owner.empty() ? TieRole::owner : TieRole::guest;
  }
  group.zero = group.replicas > 1 ? s.zero : 0;
  return group;
}

}  // namespace

void assign_groups(Tape& tape, const LayerContext& context) {
  auto& groups = tape.program.groups;
  // Decayed parameters first: at most two runs of equal decay in each buffer.
  for (const bool decays : {true, false}) {
    for (auto& weight : tape.weights) {
      if (weight.parameter.decays != decays) continue;
      const auto fresh = make_group(weight, tape.program, context);
      auto group =
          std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.name == fresh.name; });
      if (group == groups.end()) group = groups.insert(groups.end(), fresh);
      GALV_ASSERT(group->axes == fresh.axes && group->gradient_phase == fresh.gradient_phase, group->name);
      weight.parameter.offset = group->elements;
      group->elements += weight.parameter.local_elements();
      group->parameters.push_back(weight.parameter);
      weight.group = group->name;
    }
  }
  for (auto& group : groups)
    group.padded = (group.elements + group.replicas - 1) / group.replicas * group.replicas;
}

}  // namespace galvatron::program
