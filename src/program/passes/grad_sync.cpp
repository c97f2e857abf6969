// Gradients that were summed over micro-batches locally are reduced over the replicas once per step:
// all-reduce without ZeRO, reduce-scatter in place with level 1. Levels 2 and 3 have done it already. A group
// on both ends of the pipeline waits until the lane has ended, else the ends would wait for each other.

#include "program/passes/pass.hpp"

namespace galvatron::program {
namespace {

using core::CollectiveKind;

void synchronise(GroupWriter write) {
  const auto& group = write.spec();
  auto& steps = write.program.steps(group.tie == TieRole::across ? Phase::gradient_norm : Phase::sync);
  const auto whole = write.whole(Storage::gradients);
  if (group.zero == 0) {
    steps.push_back(write.collective(CollectiveKind::all_reduce, {}, whole));
    return;
  }
  steps.push_back(write.collective(CollectiveKind::reduce_scatter, whole, write.own_block(whole)));
}

void on_program(Program& program) {
  for (int32_t g = 0; g < static_cast<int32_t>(program.groups.size()); ++g) {
    const auto& group = program.groups[static_cast<size_t>(g)];
    if (group.stored_here() && group.replicas > 1 && group.zero < 2) synchronise({program, g});
  }
}

}  // namespace

const Pass grad_sync_pass{"grad_sync", nullptr, on_program};

}  // namespace galvatron::program
