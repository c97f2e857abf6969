// Signatures name everything that a kernel's duration depends on except the number of rows, over which it is
// measured: tokens for most steps, samples for attention, elements for flat buffers.
#include "cost/signature.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::cost {
namespace {

using core::format;
using program::Operand;
using program::Program;
using program::Step;
using program::StepKind;

constexpr std::array known_types = {core::DType::f32, core::DType::f64, core::DType::bf16, core::DType::f16};

core::DType dtype_of(const Program& program, const Operand& operand) {
  return program.value(operand.value).dtype;
}

double elements(const Operand& operand) {
  return static_cast<double>(operand.rows) * static_cast<double>(operand.cols);
}

/// The operand that stands for the step's size: what it writes, or reads when it only accumulates.
const Operand& main_operand(const Step& step) {
  switch (step.kind) {
    case StepKind::column_sum:
    case StepKind::positions_backward:
    case StepKind::sum_of_squares:
      return step.reads.front();
    case StepKind::embedding_backward:
      return step.reads[1];
    default:
      return step.writes.front();
  }
}

StepSignature gemm_signature(const Program& program, const Step& step) {
  const GemmShape shape = gemm_shape(program, step);
  const GemmKey key = gemm_key(shape);
  const auto letter = [](core::Transpose t) { return t == core::Transpose::yes ? 't' : 'n'; };
  const bool bias = step.reads.size() > 2 && step.reads[2].present();
  return {format("gemm {} {}={} {}={} {}{}{}{}", core::name(shape.dtype), key.tokens_are_k ? "m" : "n",
                 key.first, key.tokens_are_k ? "n" : "k", key.second, letter(shape.a), letter(shape.b),
                 shape.write == core::Write::accumulate ? " accumulate" : "", bias ? " bias" : ""),
          static_cast<double>(shape.tokens())};
}

StepSignature attention_signature(const Program& program, const Step& step) {
  const auto& a = std::get<program::AttentionAttributes>(step.attributes);
  constexpr std::array parts = {"", " earlier", " later"};
  return {format("{} {} positions={} pieces={} heads={} kv_heads={} head_dim={}{}{}",
                 program::name_of(step.kind), core::name(dtype_of(program, step.reads.front())), a.positions,
                 a.pieces, a.heads, a.kv_heads, a.head_dim, parts[static_cast<size_t>(a.part)],
                 a.merge == core::Write::accumulate ? " merging" : ""),
          static_cast<double>(a.samples)};
}

/// The variant of a step that its attributes select; empty for most.
std::string variant_of(const Step& step) {
  if (const auto* norm = std::get_if<program::NormAttributes>(&step.attributes))
    return norm->kind == core::NormKind::layernorm ? " layernorm" : " rmsnorm";
  if (const auto* activation = std::get_if<program::ActivationAttributes>(&step.attributes))
    return activation->kind == core::ActivationKind::gelu ? " gelu" : " swiglu";
  if (const auto* loss = std::get_if<program::CrossEntropyAttributes>(&step.attributes)) {
    constexpr std::array names = {" whole", " maximum", " exponentials", " gradient"};
    return names[static_cast<size_t>(loss->phase)];
  }
  return {};
}

bool is_flat(const Step& step) {
  switch (step.kind) {
    case StepKind::fill:
    case StepKind::copy:
    case StepKind::sum_of_squares:
    case StepKind::optimizer:
      return true;
    case StepKind::add:
      return step.writes.front().rows == 1;
    default:
      return false;
  }
}

/// The number in "n=1024"; 0 when it is something else.
int64_t extent_of(std::string_view word) {
  int64_t extent = 0;
  if (word.size() < 3 || word[1] != '=') return 0;
  const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), extent);
  return error == std::errc() && end == word.data() + word.size() ? extent : 0;
}

double attention_flops(const Step& step) {
  const auto& a = std::get<program::AttentionAttributes>(step.attributes);
  // Two products of positions² × head_dim; a causal mask halves them; backward has five products for two.
  const double products = 4.0 * static_cast<double>(a.samples) * static_cast<double>(a.heads) *
                          static_cast<double>(a.positions) * static_cast<double>(a.positions) *
                          static_cast<double>(a.head_dim) / 2;
  return step.kind == StepKind::attention ? products : 2.5 * products;
}

}  // namespace

GemmShape gemm_shape(const Program& program, const Step& step) {
  GALV_ASSERT(step.kind == StepKind::gemm, step.kind);
  const auto& attributes = std::get<program::GemmAttributes>(step.attributes);
  const Operand &a = step.reads[0], &c = step.writes[0];
  GemmShape shape;
  shape.m = c.rows;
  shape.n = c.cols;
  shape.k = attributes.a == core::Transpose::yes ? a.rows : a.cols;
  shape.dtype = dtype_of(program, a);
  shape.a = attributes.a;
  shape.b = attributes.b;
  shape.write = attributes.write;
  return shape;
}

GemmKey gemm_key(const GemmShape& shape) {
  if (shape.tokens_are_k()) return {shape.dtype, true, shape.m, shape.n};
  return {shape.dtype, false, shape.n, shape.k};
}

std::optional<GemmKey> parse_gemm_key(const std::string& key) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin < key.size();) {
    const size_t end = std::min(key.find(' ', begin), key.size());
    words.push_back(std::string_view(key).substr(begin, end - begin));
    begin = end + 1;
  }
  if (words.size() < 4 || words[0] != "gemm") return std::nullopt;
  const auto type = std::find_if(known_types.begin(), known_types.end(),
                                 [&](core::DType dtype) { return core::name(dtype) == words[1]; });
  const int64_t first = extent_of(words[2]), second = extent_of(words[3]);
  if (type == known_types.end() || first <= 0 || second <= 0) return std::nullopt;
  return GemmKey{*type, words[2].front() == 'm', first, second};
}

StepWork work_of(const Program& program, const Step& step) {
  StepWork work;
  for (const auto* operands : {&step.reads, &step.writes})
    for (const Operand& operand : *operands)
      if (operand.present())
        work.bytes += elements(operand) * static_cast<double>(core::size_of(dtype_of(program, operand)));
  if (step.kind == StepKind::gemm) work.flops = gemm_shape(program, step).flops();
  if (step.kind == StepKind::attention || step.kind == StepKind::attention_backward)
    work.flops = attention_flops(step);
  // A lookup touches the rows it reads, not the whole table.
  if (step.kind == StepKind::embedding || step.kind == StepKind::embedding_backward) {
    const Operand& rows = main_operand(step);
    work.bytes = 3 * elements(rows) * static_cast<double>(core::size_of(dtype_of(program, rows)));
  }
  return work;
}

int64_t operand_bytes(const Program& program, const Operand& operand) {
  return operand.rows * operand.cols * core::size_of(dtype_of(program, operand));
}

int64_t collective_bytes(const Program& program, const Step& step) {
  const auto& attributes = std::get<program::CollectiveAttributes>(step.attributes);
  const Operand& whole =
      attributes.kind == core::CollectiveKind::reduce_scatter ? step.reads.front() : step.writes.front();
  return operand_bytes(program, whole);
}

StepSignature signature_of(const Program& program, const Step& step) {
  if (step.kind == StepKind::collective || step.kind == StepKind::wait) return {};
  if (step.kind == StepKind::gemm) return gemm_signature(program, step);
  if (step.kind == StepKind::attention || step.kind == StepKind::attention_backward)
    return attention_signature(program, step);
  const Operand& operand = main_operand(step);
  const auto name = program::name_of(step.kind);
  const auto dtype = core::name(dtype_of(program, operand));
  if (is_flat(step)) return {format("{} {} flat", name, dtype), elements(operand)};
  return {format("{} {}{} cols={}", name, dtype, variant_of(step), operand.cols),
          static_cast<double>(operand.rows)};
}

}  // namespace galvatron::cost
