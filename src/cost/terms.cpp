// The list of terms. To add one: a row here; every report then shows it in a column of its own.
#include "cost/terms.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace galvatron::cost {
namespace {

using program::Phase;
using program::Step;
using program::StepKind;

bool is_gemm(const Step& step) {
  return step.kind == StepKind::gemm;
}
bool is_attention(const Step& step) {
  return step.kind == StepKind::attention || step.kind == StepKind::attention_backward;
}
bool is_collective(const Step& step) {
  return step.kind == StepKind::collective;
}
bool moves_state(const Step& step) {
  return is_collective(step) && std::get<program::CollectiveAttributes>(step.attributes).gradient;
}
bool moves_rows(const Step& step) {
  return is_collective(step) &&
         std::get<program::CollectiveAttributes>(step.attributes).kind == core::CollectiveKind::exchange;
}
bool in_forward(Phase phase) {
  return std::find(program::forward_phases.begin(), program::forward_phases.end(), phase) !=
         program::forward_phases.end();
}
bool in_backward(Phase phase) {
  return std::find(program::backward_phases.begin(), program::backward_phases.end(), phase) !=
         program::backward_phases.end();
}
bool runs_once(Phase phase) {
  return phase == Phase::sync || phase == Phase::gradient_norm || phase == Phase::update;
}

constexpr TimeTerm time_table[] = {
    {"forward gemm", "matrix products of forward", Frequency::per_micro,
     [](Phase p, const Step& s) { return in_forward(p) && is_gemm(s); }},
    {"forward attention", "attention of forward", Frequency::per_micro,
     [](Phase p, const Step& s) { return in_forward(p) && is_attention(s); }},
    {"forward state", "parameters gathered and gradients scattered in forward (ZeRO)", Frequency::per_micro,
     [](Phase p, const Step& s) { return in_forward(p) && moves_state(s); }},
    {"forward transition", "activations moved between layouts in forward", Frequency::per_micro,
     [](Phase p, const Step& s) { return in_forward(p) && moves_rows(s); }},
    {"forward tensor parallel", "activations exchanged over tp, sp and cp in forward", Frequency::per_micro,
     [](Phase p, const Step& s) { return in_forward(p) && is_collective(s); }},
    {"forward rest", "norms, activations, lookups, loss", Frequency::per_micro,
     [](Phase p, const Step&) { return in_forward(p); }},
    {"backward gemm", "matrix products of backward, those made again included", Frequency::per_micro,
     [](Phase p, const Step& s) { return in_backward(p) && is_gemm(s); }},
    {"backward attention", "attention of backward, what is made again included", Frequency::per_micro,
     [](Phase p, const Step& s) { return in_backward(p) && is_attention(s); }},
    {"backward state", "parameters gathered and gradients scattered in backward (ZeRO)", Frequency::per_micro,
     [](Phase p, const Step& s) { return in_backward(p) && moves_state(s); }},
    {"backward transition", "gradients moved between layouts in backward", Frequency::per_micro,
     [](Phase p, const Step& s) { return in_backward(p) && moves_rows(s); }},
    {"backward tensor parallel", "gradients and tokens exchanged over tp, sp and cp in backward",
     Frequency::per_micro, [](Phase p, const Step& s) { return in_backward(p) && is_collective(s); }},
    {"backward rest", "everything else of backward", Frequency::per_micro,
     [](Phase p, const Step&) { return in_backward(p); }},
    {"gradient sync", "gradients reduced once per step", Frequency::per_step,
     [](Phase p, const Step& s) {
       return (p == Phase::sync || p == Phase::gradient_norm) && is_collective(s);
     }},
    {"parameter gather", "parameters gathered after the update (ZeRO 1 and 2)", Frequency::per_step,
     [](Phase p, const Step& s) { return p == Phase::update && is_collective(s); }},
    {"optimizer", "gradient norm and parameter update", Frequency::per_step,
     [](Phase p, const Step&) { return runs_once(p); }},
    {"forward contention", "what forward takes longer because of what is moved beside it",
     Frequency::per_micro, [](Phase, const Step&) { return false; }},
    {"backward contention", "what backward takes longer because of what is moved beside it",
     Frequency::per_micro, [](Phase, const Step&) { return false; }},
    {"data wait", "reading of training data", Frequency::per_micro, [](Phase, const Step&) { return false; }},
    {"agreement", "loss, gradient norm and requests, reduced over all ranks", Frequency::per_step,
     [](Phase, const Step&) { return false; }},
};
static_assert(std::size(time_table) == time_term_count);

constexpr MemoryTerm memory_table[] = {
    {"parameters", "stored weights", [](const StageMemory& m) { return m.sum.parameter_bytes; }},
    {"gradients", "stored gradients", [](const StageMemory& m) { return m.sum.gradient_bytes; }},
    {"optimizer", "moments, and fp32 weights beside 16-bit ones",
     [](const StageMemory& m) { return m.sum.moment_bytes + m.sum.master_bytes; }},
    {"saved", "what backward needs of the micro-batches in flight",
     [](const StageMemory& m) { return m.arena.saved_bytes; }},
    {"work", "values inside one layer", [](const StageMemory& m) { return m.arena.work_bytes; }},
    {"gathered", "ZeRO-3 parameters in use",
     [](const StageMemory& m) { return m.arena.gathered_bytes[0] + m.arena.gathered_bytes[1]; }},
    {"unreduced", "ZeRO-2 and 3 gradients before reduction",
     [](const StageMemory& m) { return m.arena.unreduced_bytes[0] + m.arena.unreduced_bytes[1]; }},
    {"flow", "activations and gradients between layers",
     [](const StageMemory& m) { return m.arena.flow_bytes[0] + m.arena.flow_bytes[1]; }},
    {"boundary", "messages between stages", [](const StageMemory& m) { return m.arena.boundary_bytes; }},
    {"reserve", "what the process takes besides its arena",
     [](const StageMemory& m) { return m.reserve_bytes; }},
    {"groups", "groups of ranks, the shared memory they talk through, threads that talk",
     [](const StageMemory& m) { return m.group_bytes; }},
    {"copies", "what checkpoints are written from, behind the steps",
     [](const StageMemory& m) { return m.copy_bytes; }},
    {"saving", "lists of pieces while a checkpoint is written",
     [](const StageMemory& m) { return m.saving_bytes; }},
};

}  // namespace

std::span<const TimeTerm> time_terms() {
  return time_table;
}

size_t time_term_of(Phase phase, const Step& step) {
  for (size_t i = 0; i < time_term_count; ++i)
    if (time_table[i].holds(phase, step)) return i;
  throw core::InternalError("a step of phase " + std::string(program::name_of(phase)) +
                            " belongs to no term");
}

std::span<const MemoryTerm> memory_terms() {
  return memory_table;
}

}  // namespace galvatron::cost
