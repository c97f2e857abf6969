// ZeRO (Rajbhandari et al., arXiv 1910.02054), levels 2 and 3 inside a micro-batch. Level 3 gathers a group's
// parameters before each phase that reads them. Levels 2 and 3 reduce-scatter its gradients at the end of the
// phase that writes them. Level 1 acts once per step only: see grad_sync and update.

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
  auto& steps = write.program.steps(phase);
  const auto in = write.shard(Storage::weight_shard), out = write.whole(Storage::weights);
  steps.insert(steps.begin(), write.collective(CollectiveKind::all_gather, in, out));
}

void reduce_gradients(GroupWriter write, Phase phase) {
  auto& steps = write.program.steps(phase);
  const auto whole = write.whole(Storage::gradients), kept = write.shard(Storage::gradient_shard);
  const auto sum = write.work("reduced gradients", write.spec().shard());
  steps.insert(steps.begin(), {StepKind::fill, {}, {whole}, FillAttributes{0.0}, {}});
  steps.push_back(write.collective(CollectiveKind::reduce_scatter, whole, sum));
  steps.push_back({StepKind::add, {kept, sum, {}}, {kept}, {}, {}});
}

void on_program(Program& program) {
  for (int32_t g = 0; g < static_cast<int32_t>(program.groups.size()); ++g) {
    const auto zero = program.groups[static_cast<size_t>(g)].zero;
    if (zero >= 2) reduce_gradients({program, g}, program.groups[static_cast<size_t>(g)].gradient_phase);
    if (zero < 3) continue;
    for (const auto phase : {Phase::forward, Phase::backward, Phase::evaluate})
      if (reads_weights(program, phase, g)) gather_parameters({program, g}, phase);
  }
}

}  // namespace

const Pass zero_pass{"zero", nullptr, on_program};

}  // namespace galvatron::program
