// Once per step: each rank adds up the squares of its slice of every gradient (so each element counts once in
// the global norm, whatever is replicated), then the optimizer updates the parameters whose state this rank
// holds (fp32 masters beside 16-bit working weights), then levels 1 and 2 gather the parameters again. After
// loading, working weights are made from the masters in the same way.

#include <algorithm>

#include "program/passes/pass.hpp"

namespace galvatron::program {
namespace {

/// Runs of equal weight decay in [begin, begin + count) of a group, relative to begin. Padding does not
/// decay.
std::vector<core::DecayRange> decay_ranges(const ParameterGroup& group, int64_t begin, int64_t count) {
  int64_t decayed = 0;
  for (const auto& p : group.parameters)
    if (p.decays) decayed += p.local_elements();
  const auto edge = std::clamp<int64_t>(decayed - begin, 0, count);
  std::vector<core::DecayRange> ranges;
  if (edge > 0) ranges.push_back({0, edge, true});
  if (edge < count) ranges.push_back({edge, count, false});
  return ranges;
}

void update(GroupWriter write) {
  const auto& group = write.spec();
  const bool sharded = group.zero >= 1;
  const auto count = group.moment_elements();
  const auto begin = sharded ? group.replica_index * group.shard() : 0;
  const auto norm = [&] {
    write.program.values.push_back({"gradient norm", 1, 1, core::DType::f64, Storage::gradient_norm});
    return Operand{static_cast<ValueId>(write.program.values.size()) - 1, 0, 1, 0, 1};
  }();
  write.program.steps(Phase::gradient_norm)
      .push_back({StepKind::sum_of_squares, {write.shard(Storage::gradient_shard)}, {norm}, {}, {}});

  auto part = [&](Storage whole, Storage shard) { return sharded ? write.shard(shard) : write.whole(whole); };
  auto moment = [&](Storage storage) { return sharded ? write.shard(storage) : write.whole(storage); };
  const auto working = part(Storage::weights, Storage::weight_shard);
  const bool apart = group.has_master();
  const auto updated = apart ? moment(Storage::master) : working;
  auto& steps = write.program.steps(Phase::update);
  steps.push_back({StepKind::optimizer,
                   {},
                   {updated, part(Storage::gradients, Storage::gradient_shard), moment(Storage::exp_avg),
                    moment(Storage::exp_avg_sq), apart ? working : Operand{}},
                   OptimizerAttributes{decay_ranges(group, begin, count)},
                   {}});
  if (group.zero == 1)
    steps.push_back({StepKind::fill, {}, {write.whole(Storage::gradients)}, FillAttributes{0.0}, {}});
  auto& restore = write.program.steps(Phase::restore);
  if (apart) restore.push_back({StepKind::copy, {updated}, {working}, {}, {}});
  if (group.zero != 1 && group.zero != 2) return;
  const auto gather = write.collective(core::CollectiveKind::all_gather, write.shard(Storage::weight_shard),
                                       write.whole(Storage::weights));
  steps.push_back(gather);
  if (apart) restore.push_back(gather);
}

void on_program(Program& program) {
  for (int32_t g = 0; g < static_cast<int32_t>(program.groups.size()); ++g)
    if (program.groups[static_cast<size_t>(g)].stored_here()) update({program, g});
}

}  // namespace

const Pass update_pass{"update", nullptr, on_program};

}  // namespace galvatron::program
