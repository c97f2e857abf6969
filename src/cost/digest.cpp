// Reads Programs into digests, and puts two of them together.
#include "cost/digest.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "cost/layer_price.hpp"
#include "cost/signature.hpp"
#include "program/pieces.hpp"

namespace galvatron::cost {
namespace {

using program::Phase;
using program::Program;
using program::Step;
using program::StepKind;

bool is_of_compute(Phase phase) {
  return phase == Phase::forward || phase == Phase::backward || phase == Phase::evaluate;
}

/// What ZeRO puts before a phase that makes gradients.
bool clears_gradients(const Program& program, const Step& step) {
  return step.kind == StepKind::fill && !step.workspace.present() &&
         program.value(step.writes.front().value).storage == program::Storage::gradients;
}

/// This rank's share of weights and moments, in the precision of the optimizer: what it writes.
int64_t saved_state_bytes(const Program& program) {
  int64_t bytes = 0;
  for (const auto& group : program.groups)
    if (group.stored_here()) bytes += 3 * group.shard() * core::size_of(group.accumulator());
  return bytes;
}

/// Slices of the replicas hold different pieces, so the mean of them stands for each. Where a slice ends in a
/// stretch, one piece becomes two; where it ends in one of several rows, four: the parts of that row, and the
/// rows on either side.
int64_t saved_pieces(const Program& program) {
  int64_t pieces = 0;
  for (const auto& group : program.groups) {
    const auto runs = program::runs_of(group, 0, group.padded);
    int64_t in_rows = 0;
    for (const auto& run : runs) in_rows += run.times > 1 ? run.elements() : 0;
    const int64_t cuts = group.replicas - 1;
    const auto all =
        static_cast<int64_t>(runs.size()) + cuts + 2 * cuts * in_rows / std::max<int64_t>(group.elements, 1);
    if (group.stored_here()) pieces += (3 * all + group.replicas - 1) / group.replicas;
  }
  return pieces;
}

/// Whole samples are read, whatever part of them the rank looks up.
int64_t reads_per_sample(const Program& program) {
  const int reads =
      (program.tokens != program::no_value ? 1 : 0) + (program.labels != program::no_value ? 1 : 0);
  return reads * program.layer.dims.seq;
}

/// Number of the collective among those that differ.
int32_t number_of(const DigestCollective& collective, std::vector<DigestCollective>& known) {
  const auto found = std::find(known.begin(), known.end(), collective);
  const auto number = static_cast<int32_t>(found - known.begin());
  if (found == known.end()) known.push_back(collective);
  return number;
}

}  // namespace

DigestPair::Played DigestPair::phase(program::Phase phase) const {
  const auto at = static_cast<size_t>(phase);
  if (whole_ || !is_of_compute(phase)) return {{}, groups_.phases[at], true};
  return {std::span(groups_.phases[at]).first(groups_.clears[at]), compute_.phases[at], false};
}

program::MemoryNeed DigestPair::memory() const {
  program::MemoryNeed memory = groups_.memory;
  if (whole_) return memory;
  memory.saved_bytes = compute_.memory.saved_bytes;
  memory.work_bytes = 0;
  for (const Phase phase : program::all_phases) {
    const Digest& digest = is_of_compute(phase) ? compute_ : groups_;
    memory.work_bytes = std::max(memory.work_bytes, digest.work_bytes[static_cast<size_t>(phase)]);
  }
  return memory;
}

DigestStep CostModel::digest_step(const Program& program, const Step& step, Phase phase,
                                  const StagePlace& place, Digest& digest) {
  DigestStep out;
  out.term = static_cast<uint8_t>(time_term_of(phase, step));
  if (const auto* collective = std::get_if<program::CollectiveAttributes>(&step.attributes)) {
    if (collective->kind == core::CollectiveKind::exchange) {
      const Seconds seconds = exchange_seconds(program, step, place);
      out.seconds = seconds.seconds;
      out.modelled = seconds.modelled;
      return out;
    }
    out.kind = DigestStep::Kind::collective;
    out.ticket = collective->ticket;
    out.number =
        number_of({collective->kind, collective->axes, static_cast<double>(collective_bytes(program, step))},
                  digest.collectives);
    return out;
  }
  const Seconds seconds = compute_seconds(program, step);
  out.seconds = seconds.seconds;
  out.modelled = seconds.modelled;
  return out;
}

Digest CostModel::digest(const Program& program, const StagePlace& place) {
  Digest digest;
  digest.memory = program.memory;
  digest.work_bytes = program.work_bytes;
  digest.state_bytes = saved_state_bytes(program);
  digest.pieces = saved_pieces(program);
  digest.reads = reads_per_sample(program);
  for (const Phase phase : program::all_phases) {
    if (phase == Phase::evaluate || phase == Phase::restore) continue;  // no price holds them
    const auto at = static_cast<size_t>(phase);
    auto& steps = digest.phases[at];
    steps.reserve(program.steps(phase).size());
    for (const Step& step : program.steps(phase)) {
      digest.attends |= step.kind == StepKind::attention;
      if (digest.clears[at] == steps.size() && clears_gradients(program, step)) ++digest.clears[at];
      if (const auto* wait = std::get_if<program::WaitAttributes>(&step.attributes)) {
        steps.push_back({DigestStep::Kind::wait, 0, -1, wait->ticket, 0, 0});
        continue;
      }
      steps.push_back(digest_step(program, step, phase, place, digest));
    }
  }
  return digest;
}

}  // namespace galvatron::cost
