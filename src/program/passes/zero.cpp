// ZeRO (Rajbhandari et al., arXiv 1910.02054), levels 2 and 3 inside a micro-batch. Level 3 gathers a group's
// parameters before each phase that reads them. Levels 2 and 3 reduce-scatter its gradients, in place, after
// the phase that writes them. Both have phases of their own, so that they can be under way beside another
// layer. Level 1 acts once per step only: see grad_sync and update.

#include "program/passes/pass.hpp"

namespace galvatron::program {
namespace {

using core::CollectiveKind;

bool reads_weights(const Program& program, Phase phase, int32_t group) {
  for (const auto& step : program.steps(phase))
    for (const auto& operand : step.reads)
      if (operand.present() && program.value(operand.value).storage == Storage::weights &&
          program.value(operand.value).group == group)
        return true;
  return false;
}

void gather_parameters(GroupWriter write, Phase phase) {
  write.program.steps(phase).push_back(write.collective(
      CollectiveKind::all_gather, write.shard(Storage::weight_shard), write.whole(Storage::weights)));
}

void reduce_gradients(GroupWriter write, Phase made, Phase reduced) {
  auto& program = write.program;
  const auto whole = write.whole(Storage::gradients), kept = write.shard(Storage::gradient_shard);
  const auto sum = write.own_block(whole);
  program.steps(made).insert(program.steps(made).begin(),
                             {StepKind::fill, {}, {whole}, FillAttributes{0.0}, {}});
  program.steps(reduced).push_back(write.collective(CollectiveKind::reduce_scatter, whole, sum));
  program.steps(reduced).push_back({StepKind::add, {kept, sum, {}}, {kept}, {}, {}});
}

void on_program(Program& program) {
  for (int32_t g = 0; g < static_cast<int32_t>(program.groups.size()); ++g) {
    const auto& group = program.groups[static_cast<size_t>(g)];
    const auto zero = group.zero;
    const bool in_forward = group.gradient_phase == Phase::forward;
    if (zero >= 2)
      reduce_gradients({program, g}, group.gradient_phase,
                       in_forward ? Phase::forward_reduce : Phase::backward_reduce);
    if (zero < 3) continue;
    // What evaluation reads, forward reads too.
    if (reads_weights(program, Phase::forward, g)) gather_parameters({program, g}, Phase::gather);
    if (reads_weights(program, Phase::backward, g)) gather_parameters({program, g}, Phase::backward_gather);
  }
}

}  // namespace

const Pass zero_pass{"zero", nullptr, on_program};

}  // namespace galvatron::program
