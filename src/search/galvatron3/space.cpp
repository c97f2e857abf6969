// The decision tree of Galvatron 3.0: stages, then tp or sp, then cp, and what remains is dp.
#include "search/galvatron3/space.hpp"

#include <algorithm>

namespace galvatron::search::galvatron3 {
namespace {

bool is_left_out(const Strategy& s, Without what) {
  switch (what) {
    case Without::pp:
      return s.pp > 1;
    case Without::tp:
      return s.tp > 1;
    case Without::sp:
      return s.sp > 1;
    case Without::cp:
      return s.cp > 1;
    case Without::dp:
      return s.dp > 1;
    case Without::zero3:
      return s.type == DpType::zero3;
    case Without::recompute:
      return s.recomputes();
  }
  return false;
}

/// All types and recomputations of one division.
void add_leaves(const SpaceOptions& options, Strategy s, std::set<Strategy>& out) {
  s.dp = options.world / (s.pp * s.width() * s.cp);
  const auto types = s.dp == 1 ? std::vector{DpType::ddp} : std::vector{options.plain, DpType::zero3};
  for (const auto type : types)
    for (const auto recompute : {spec::Recompute::none, spec::Recompute::full}) {
      s.type = type;
      s.recompute = recompute;
      const auto left_out = [&s](Without what) { return is_left_out(s, what); };
      if (std::none_of(options.without.begin(), options.without.end(), left_out)) out.insert(s);
    }
}

}  // namespace

std::vector<Strategy> layer_strategies(const SpaceOptions& options) {
  std::set<Strategy> out;
  for (int64_t pp = 1; pp <= std::min({options.max_pp, options.layers, options.world}); pp *= 2)
    for (const bool ulysses : {false, true})
      for (int64_t width = 1;
           width <= (ulysses ? options.max_sp : options.max_tp) && pp * width <= options.world; width *= 2)
        for (int64_t cp = 1; cp <= options.max_cp && pp * width * cp <= options.world; cp *= 2) {
          Strategy s;
          s.pp = pp;
          (ulysses ? s.sp : s.tp) = width;
          s.cp = cp;
          add_leaves(options, s, out);
        }
  return {out.begin(), out.end()};
}

std::vector<Strategy> vocab_strategies(const std::vector<Strategy>& layers) {
  std::set<Strategy> out;
  for (auto strategy : layers) {
    strategy.recompute = spec::Recompute::none;
    out.insert(strategy);
  }
  return {out.begin(), out.end()};
}

}  // namespace galvatron::search::galvatron3
