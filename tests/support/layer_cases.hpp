#pragma once
// Every layer kind under every legal small strategy, for tests that claim something about all Programs.

#include <functional>
#include <string>
#include <vector>

#include "program/layers/kinds.hpp"
#include "program/lower.hpp"

namespace galvatron::test {

/// Extents with many divisors, but for the vocabulary, which no tp > 1 divides.
inline spec::LayerDims case_dims() {
  spec::LayerDims dims;
  dims.hidden = 24;
  dims.heads = dims.kv_heads = 12;
  dims.head_dim = 2;
  dims.ffn = 36;
  dims.vocab = 37;
  dims.seq = 12;
  return dims;
}

inline spec::LayerStrategy strategy_of(int32_t tp, int32_t dp, int32_t zero = 0,
                                       spec::Recompute recompute = spec::Recompute::none) {
  spec::LayerStrategy strategy;
  strategy.tp = tp;
  strategy.dp = dp;
  strategy.zero = zero;
  strategy.recompute = recompute;
  return strategy;
}

/// One layer of `kind`, lowered without workspace for the rank at (tp, dp).
inline program::Program lowered(const std::string& kind, const spec::LayerDims& dims,
                                const spec::LayerStrategy& strategy, const spec::Coordinate& at = {},
                                program::TieScope tie = program::TieScope::none, int64_t samples = 2,
                                core::DType dtype = core::DType::f32) {
  program::LayerContext context;
  context.strategy = strategy;
  context.coordinate = at;
  context.samples = samples;
  context.tie = tie;
  context.dtype = dtype;
  return program::lower({kind, dims}, context, program::NoWorkspace());
}

/// One kind under tp × (sp, cp) × dp × ZeRO × recompute × ties, as far as they are legal.
inline std::vector<program::LayerContext> legal_contexts(const spec::LayerSpec& layer) {
  std::vector<program::LayerContext> list;
  const bool ties = layer.dims.tied && (layer.kind == "embedding" || layer.kind == "head");
  struct Sequence {
    int32_t sp, cp;
  };
  for (const auto& [sp, cp] : {Sequence{1, 1}, {2, 1}, {3, 1}, {1, 2}, {1, 3}, {2, 2}})
    for (const int32_t tp : {1, 2, 3, 4, 6, 12})
      for (const int32_t dp : {1, 2, 3})
        for (int32_t zero = 0; zero <= 3; ++zero)
          for (const auto recompute : {spec::Recompute::none, spec::Recompute::full})
            for (const auto tie :
                 {program::TieScope::none, program::TieScope::same_stage, program::TieScope::across_stages}) {
              program::LayerContext context;
              context.strategy = strategy_of(tp, dp, zero, recompute);
              context.strategy.sp = sp;
              context.strategy.cp = cp;
              context.samples = 2;
              context.tie = tie;
              if (sp * cp > 1 && dp > 2) continue;
              if (ties != (tie != program::TieScope::none)) continue;
              if (tie == program::TieScope::across_stages && zero > 1) continue;
              if (!program::illegal_reason(layer, context.strategy, 2 * dp)) list.push_back(context);
            }
  return list;
}

/// GPT-like with bias and without, LLaMA-like; tied and not; equal, fewer and few key/value heads.
inline std::vector<spec::LayerSpec> layer_cases() {
  std::vector<spec::LayerSpec> list;
  for (const auto& kind : program::layer_kinds())
    for (const auto family : {"gpt", "gpt without bias", "llama"})
      for (const bool tied : {true, false})
        for (const int64_t kv_heads : {12, 4, 2}) {
          auto dims = case_dims();
          dims.bias = family == std::string("gpt");
          dims.tied = tied;
          dims.kv_heads = kv_heads;
          if (family == std::string("llama")) {
            dims.norm = core::NormKind::rmsnorm;
            dims.activation = core::ActivationKind::swiglu;
            dims.position = spec::PositionKind::rotary;
          }
          list.push_back({std::string(kind.name), dims});
        }
  return list;
}

inline std::string text_of(const spec::LayerSpec& layer, const program::LayerContext& context) {
  static const char* const ties[] = {"", " tied in its stage", " tied across stages"};
  return layer.kind + " " + spec::to_string(context.strategy) + (layer.dims.bias ? "" : " without bias") +
         (layer.dims.position == spec::PositionKind::rotary ? " rotary" : "") +
         ties[static_cast<size_t>(context.tie)] + ", " + std::to_string(layer.dims.kv_heads) +
         " key/value heads";
}

/// Calls `check(program, text)` for the first and the last rank of every legal case; how many cases there
/// were.
inline int64_t for_every_program(
    const std::function<void(const program::Program&, const std::string&)>& check) {
  int64_t cases = 0;
  for (const auto& layer : layer_cases())
    for (auto context : legal_contexts(layer)) {
      const auto text = text_of(layer, context);
      check(program::lower(layer, context, program::NoWorkspace()), text + ", first rank");
      const auto& s = context.strategy;
      context.coordinate = {s.tp - 1, s.sp - 1, s.cp - 1, s.dp - 1};
      check(program::lower(layer, context, program::NoWorkspace()), text + ", last rank");
      ++cases;
    }
  return cases;
}

}  // namespace galvatron::test
