// The deck's words for the switches of Galvatron 3.0.
#include "search/galvatron3/request.hpp"

#include <algorithm>

#include "deck/sections.hpp"

namespace galvatron::search::galvatron3 {
namespace {

using cost::galvatron3::GradientReduction;
using cost::galvatron3::MemoryMode;
using cost::galvatron3::Pipeline;
using cost::galvatron3::Precision;
using cost::galvatron3::SequenceSplit;
using cost::galvatron3::TimeMode;

/// An exabyte, so that sums stay within 64 bits.
constexpr int64_t most_memory_mb = int64_t{1} << 39;

int64_t limit(int64_t wanted, int64_t world) {
  return wanted == 0 ? world : std::min(wanted, world);
}

std::set<Without> switches_of(const deck::SearchSection& search) {
  std::set<Without> out;
  const auto has = [](const auto& list, const auto& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  const std::pair<const char*, Without> axes[] = {
      {"tp", Without::tp}, {"sp", Without::sp}, {"cp", Without::cp}, {"dp", Without::dp}};
  for (const auto& [axis, without] : axes)
    if (!has(search.axes, axis)) out.insert(without);
  if (!has(search.zero, 3)) out.insert(Without::zero3);
  if (!search.recompute) out.insert(Without::recompute);
  return out;
}

}  // namespace

Request request_from_deck(const deck::DeckValues& deck, const spec::ClusterSpec& cluster) {
  const auto& g = deck.galvatron;
  const auto& s = deck.search;
  const int64_t world = cluster.ranks();
  Request out;
  out.settings.world = world;
  out.settings.precision = deck.train.precision == "fp32" ? Precision::full : Precision::mixed;
  out.settings.reduction =
      g.async_grad_reduce ? GradientReduction::asynchronous : GradientReduction::deferred;
  out.settings.pipeline = s.schedule.front() == "gpipe" ? Pipeline::gpipe : Pipeline::one_f_one_b;
  out.settings.sequence = g.sequence_parallel ? SequenceSplit::on : SequenceSplit::off;
  out.model = {deck.model.layers,
               deck.model.hidden,
               deck.model.seq,
               g.time_mode == "static"     ? TimeMode::fixed
               : g.time_mode == "sequence" ? TimeMode::sequence
                                           : TimeMode::batch,
               g.memory_mode == "sequence" ? MemoryMode::sequence : MemoryMode::fixed,
               g.sequence_parallel ? "_sp" : ""};
  auto& space = out.search.space;
  space.world = world;
  space.layers = deck.model.layers;
  space.max_pp = limit(s.max_pp, world);
  space.max_tp = limit(s.max_tp, world);
  space.max_sp = limit(g.max_sp, world);
  space.max_cp = limit(g.max_cp, world);
  space.plain = g.default_dp == "ddp" ? DpType::ddp : DpType::zero2;
  space.without = switches_of(s);
  out.search.batches = s.batch;
  out.search.chunks = g.chunks;
  out.search.memory_mb = std::min(cluster.memory_bytes >> 20, most_memory_mb);
  out.search.grain = g.fine_grained ? Grain::layers : Grain::uniform;
  if (g.objective == "galvatron") out.search.objectives = {Objective::published};
  return out;
}

plan::galvatron3::StrategyFile strategy_file_of(const Found& found, const Request& request) {
  plan::galvatron3::StrategyFile out;
  out.pp_deg = found.stages;
  out.world_size = request.settings.world;
  out.global_bsz = found.step.batch;
  out.chunks = found.step.chunks;
  out.pipeline_type = request.settings.pipeline == Pipeline::gpipe ? "gpipe" : "pipedream_flush";
  out.default_dp_type = request.search.space.plain == DpType::ddp ? "ddp" : "zero2";
  out.vtp = found.vocab.width();
  out.vsp = found.vocab.sp > 1 ? 1 : 0;
  out.vcp = found.vocab.cp;
  out.embed_sdp = found.vocab.type == DpType::zero3 ? 1 : 0;
  for (const auto& stage : found.layers) {
    out.pp_division.push_back(static_cast<int64_t>(stage.size()));
    for (const auto& s : stage) {
      out.tp_sizes_enc.push_back(s.width());
      out.cp_sizes_enc.push_back(s.cp);
      out.use_sp.push_back(s.sp > 1 ? 1 : 0);
      out.dp_types_enc.push_back(s.type == DpType::zero3 ? 1 : 0);
      out.checkpoint.push_back(s.recomputes() ? 1 : 0);
    }
  }
  return out;
}

}  // namespace galvatron::search::galvatron3
