// Query head h reads key/value head h / (heads / kv_heads); everything here follows from that.

#include "program/heads.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::program {
namespace {

HeadRange part_of(int64_t heads, int64_t parts, int64_t index) {
  return {index * (heads / parts), heads / parts};
}

HeadRange keys_for(const spec::LayerDims& d, const HeadRange& queries) {
  const auto readers = d.heads / d.kv_heads;
  const auto first = queries.first / readers, last = (queries.first + queries.count - 1) / readers;
  return {first, last - first + 1};
}

bool fits(const spec::LayerDims& d, int64_t degree) {
  return d.heads % degree == 0 && (d.kv_heads % degree == 0 || degree % d.kv_heads == 0);
}

}  // namespace

HeadDeal deal_heads(const spec::LayerDims& d, const spec::LayerStrategy& s, int32_t tp_index) {
  HeadDeal deal;
  deal.queries = part_of(d.heads, s.tp, tp_index);
  deal.keys = keys_for(d, deal.queries);
  deal.keys_split = d.kv_heads % s.tp == 0;
  for (int32_t i = 0; i < s.sp; ++i) {
    const auto queries = part_of(d.heads, int64_t{s.tp} * s.sp, int64_t{tp_index} * s.sp + i);
    deal.part_queries.push_back(queries);
    deal.part_keys.push_back(keys_for(d, queries));
    GALV_ASSERT(deal.part_keys.back().count == deal.part_keys.front().count, d.heads, d.kv_heads, s.tp, s.sp);
  }
  return deal;
}

std::optional<std::string> heads_illegal(const spec::LayerDims& d, const spec::LayerStrategy& s) {
  const auto degree = int64_t{s.tp} * s.sp;
  if (fits(d, degree)) return std::nullopt;
  std::vector<std::string> legal;
  for (int64_t n = 1; n <= d.heads; ++n)
    if (fits(d, n)) legal.push_back(std::to_string(n));
  const auto name =
      s.sp == 1 ? core::format("tp = {}", s.tp) : core::format("tp · sp = {} · {} = {}", s.tp, s.sp, degree);
  const auto legal_text = core::join(legal, ", ");
  if (d.heads % degree != 0)
    return core::format("{} does not divide heads = {} (legal: {})", name, d.heads, legal_text);
  return core::format("{} neither divides kv_heads = {} nor is a multiple of them (legal: {})", name,
                      d.kv_heads, legal_text);
}

}  // namespace galvatron::program
