// Offsets of saved and work values and of parameter buffers. Work is placed largest first at the lowest
// offset that no value alive at the same time occupies: deterministic, and close to the lower bound on lists
// as short as a layer's.

#include "program/memory.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "program/epilogue.hpp"

namespace galvatron::program {
namespace {

struct Lifetime {
  ValueId value = no_value;
  int64_t bytes = 0;
  size_t first = 0, last = 0;
  bool meets(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

std::vector<Lifetime> lifetimes_of(const Program& program, const std::vector<Step>& steps) {
  std::vector<Lifetime> lives(program.values.size());
  const auto touch = [&](const Operand& operand, size_t at) {
    if (!operand.present() || program.value(operand.value).storage != Storage::work) return;
    auto& life = lives[static_cast<size_t>(operand.value)];
    if (life.value == no_value) life = {operand.value, aligned(program.value(operand.value).bytes()), at, at};
    life.last = at;
  };
  const auto touch_all = [&](const Step& step, size_t at) {
    for (const auto& operand : step.reads) touch(operand, at);
    for (const auto& operand : step.writes) touch(operand, at);
    touch(step.workspace, at);
  };
  for (size_t at = 0; at < steps.size(); ++at) {
    touch_all(steps[at], at);
    if (epilogue_at(program, steps, at)) touch_all(steps[at + 1], at);
    if (at > 0 && epilogue_at(program, steps, at - 1)) touch_all(steps[at - 1], at);
  }
  std::erase_if(lives, [](const Lifetime& life) { return life.value == no_value; });
  return lives;
}

/// Places one phase's work values; the bytes they span.
int64_t place_work(Program& program, const std::vector<Step>& steps) {
  auto lives = lifetimes_of(program, steps);
  std::stable_sort(lives.begin(), lives.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  std::vector<Lifetime> placed;
  int64_t span = 0;
  for (const auto& life : lives) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const auto& other : placed)
      if (life.meets(other)) taken.emplace_back(program.value(other.value).offset, other.bytes);
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (const auto& [begin, bytes] : taken) {
      if (offset + life.bytes <= begin) break;
      offset = std::max(offset, begin + bytes);
    }
    program.value(life.value).offset = offset;
    placed.push_back(life);
    span = std::max(span, offset + life.bytes);
  }
  return span;
}

/// Hands out consecutive aligned pieces of a region.
class Cursor {
 public:
  int64_t take(int64_t bytes) {
    const auto at = end_;
    end_ += aligned(bytes);
    return at;
  }
  int64_t end() const { return end_; }

 private:
  int64_t end_ = 0;
};

void place_group(const ParameterGroup& group, GroupPlacement& place, MemoryNeed& need, Cursor& persistent,
                 Cursor& gathered, Cursor& unreduced) {
  const auto weight = core::size_of(group.dtype), wide = core::size_of(group.accumulator());
  const auto whole = group.padded * weight, shard = group.shard() * weight;
  const auto whole_gradient = group.padded * wide, gradient_shard = group.shard() * wide;
  const auto moment = group.moment_elements() * wide;
  if (group.zero >= 3) place.gathered = gathered.take(whole);
  if (group.zero >= 2) place.unreduced = unreduced.take(whole_gradient);
  if (!group.stored_here()) return;
  if (group.zero >= 3) {
    place.weight_shard = persistent.take(shard);
    need.parameter_bytes += aligned(shard);
  } else {
    place.weights = persistent.take(whole);
    place.weight_shard = place.weights + group.replica_index * shard;
    need.parameter_bytes += aligned(whole);
  }
  if (group.zero >= 2) {
    place.gradient_shard = persistent.take(gradient_shard);
    need.gradient_bytes += aligned(gradient_shard);
  } else {
    place.gradients = persistent.take(whole_gradient);
    place.gradient_shard = place.gradients + group.replica_index * gradient_shard;
    need.gradient_bytes += aligned(whole_gradient);
  }
  if (group.has_master()) {
    place.master = persistent.take(moment);
    need.master_bytes += aligned(moment);
  }
  place.exp_avg = persistent.take(moment);
  place.exp_avg_sq = persistent.take(moment);
  need.moment_bytes += 2 * aligned(moment);
}

}  // namespace

int64_t aligned(int64_t bytes) {
  return (bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
}

void plan_memory(Program& program) {
  program.memory = {};
  Cursor saved, persistent, gathered, unreduced;
  for (auto& value : program.values)
    if (value.storage == Storage::saved) value.offset = saved.take(value.bytes());
  for (const auto phase : all_phases) {
    auto& bytes = program.work_bytes[static_cast<size_t>(phase)];
    bytes = place_work(program, program.steps(phase));
    program.memory.work_bytes = std::max(program.memory.work_bytes, bytes);
  }
  program.placements.assign(program.groups.size(), {});
  for (size_t g = 0; g < program.groups.size(); ++g)
    place_group(program.groups[g], program.placements[g], program.memory, persistent, gathered, unreduced);
  program.memory.saved_bytes = saved.end();
  program.memory.gathered_bytes = gathered.end();
  program.memory.unreduced_bytes = unreduced.end();
  GALV_ASSERT(persistent.end() == program.memory.persistent_bytes(), persistent.end(),
              program.memory.persistent_bytes());
}

}  // namespace galvatron::program
