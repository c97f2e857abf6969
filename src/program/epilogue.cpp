// Pairs of steps by what they are and what becomes of the product. gelu of a product that nobody needs again
// stays apart: together they would need the product's memory while the factors are still alive, and that is
// the fullest moment of an evaluation.

#include "program/epilogue.hpp"

#include <algorithm>

namespace galvatron::program {
namespace {

using core::EpilogueKind;

bool names(const Step& step, ValueId value) {
  const auto is_it = [&](const Operand& operand) { return operand.value == value; };
  return std::any_of(step.reads.begin(), step.reads.end(), is_it) ||
         std::any_of(step.writes.begin(), step.writes.end(), is_it);
}

/// Whether a step from `first` on names the value.
bool named_from(const std::vector<Step>& steps, size_t first, ValueId value) {
  return std::any_of(steps.begin() + static_cast<int64_t>(first), steps.end(),
                     [&](const Step& step) { return names(step, value); });
}

bool is_gelu(const Step& step) {
  const auto* activation = std::get_if<ActivationAttributes>(&step.attributes);
  return activation != nullptr && activation->kind == core::ActivationKind::gelu;
}

}  // namespace

std::optional<EpilogueKind> epilogue_at(const Program& program, const std::vector<Step>& steps, size_t at) {
  if (at + 1 >= steps.size() || steps[at].kind != StepKind::gemm) return std::nullopt;
  const auto& product = steps[at];
  const auto& next = steps[at + 1];
  const auto& how = std::get<GemmAttributes>(product.attributes);
  const auto& c = product.writes[0];
  const bool sums = how.write == core::Write::accumulate;
  if (next.kind == StepKind::column_sum && sums && how.a == core::Transpose::yes &&
      next.reads[0] == product.reads[0])
    return EpilogueKind::column_sum;
  if (sums || !is_gelu(next)) return std::nullopt;
  const bool saved = program.value(c.value).storage == Storage::saved;
  const bool needed = saved || named_from(steps, at + 2, c.value);
  if (next.kind == StepKind::activation && next.reads[0] == c && needed) return EpilogueKind::gelu;
  const bool only_gradient = program.value(c.value).storage == Storage::work && !needed &&
                             !product.reads[2].present() && next.reads[0].value != c.value;
  if (next.kind == StepKind::activation_backward && next.reads[1] == c && only_gradient)
    return EpilogueKind::gelu_backward;
  return std::nullopt;
}

}  // namespace galvatron::program
