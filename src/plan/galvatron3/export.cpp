// From a plan to the strategy file: what the file has no words for is refused, everything at once.
#include <algorithm>
#include <set>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "plan/galvatron3/strategy_file.hpp"

namespace galvatron::plan::galvatron3 {
namespace {

using core::format;
using spec::LayerStrategy;

class Exporter {
 public:
  Exporter(const Plan& plan, const spec::ModelSpec& model, const std::string& file)
      : plan_(plan), model_(model), file_(file) {}

  StrategyFile run() {
    if (const auto reason = no_blocks(model_); reason.empty())
      fill();
    else
      refuse(reason);
    if (!reasons_.empty())
      throw core::UserError(format("{}: a strategy file of Galvatron 3.0 cannot say this plan:\n  {}", file_,
                                   core::join(reasons_, "\n  ")));
    return out_;
  }

 private:
  void refuse(const std::string& reason) {
    if (std::find(reasons_.begin(), reasons_.end(), reason) == reasons_.end()) reasons_.push_back(reason);
  }

  void fill() {
    out_.world_size = plan_.world;
    out_.global_bsz = plan_.batch;
    out_.chunks = plan_.microbatches;
    fill_pipeline();
    fill_default_type();
    for (int64_t layer = 1; layer + 2 < model_.size(); layer += 2) fill_block(layer);
    const auto &embedding = plan_.layers.front(), &head = plan_.layers.back();
    if (embedding != head)
      refuse(format("embedding and head differ: {} and {}", to_string(embedding), to_string(head)));
    if (embedding.recompute != spec::Recompute::none || head.recompute != spec::Recompute::none)
      refuse("embedding or head recomputes");
    check_strategy("embedding", embedding);
    out_.vtp = std::max(embedding.tp, embedding.sp);
    out_.vsp = embedding.sp > 1 ? 1 : 0;
    out_.vcp = embedding.cp;
    out_.embed_sdp = embedding.zero == 3 && !is_alone(embedding) ? 1 : 0;
  }

  void fill_pipeline() {
    if (plan_.schedule != ScheduleKind::one_f_one_b && plan_.schedule != ScheduleKind::gpipe)
      refuse(format("schedule {}: there are 1f1b and gpipe", name_of(plan_.schedule)));
    if (plan_.placement != Placement::stage_major)
      refuse(format("placement {}: stages have ranks in a row", name_of(plan_.placement)));
    if (plan_.virtual_stages > 1) refuse(format("{} virtual stages", plan_.virtual_stages));
    out_.pipeline_type = plan_.schedule == ScheduleKind::gpipe ? "gpipe" : "pipedream_flush";
    out_.pp_deg = static_cast<int64_t>(plan_.stages.size());
    for (size_t s = 0; s < plan_.stages.size(); ++s) {
      const auto& stage = plan_.stages[s];
      const bool starts = s == 0 || stage.first % 2 == 1;
      const bool ends = s + 1 == plan_.stages.size() || stage.last % 2 == 0;
      const int64_t layers = stage.size() - (s == 0 ? 1 : 0) - (s + 1 == plan_.stages.size() ? 1 : 0);
      if (!starts || !ends || layers < 2)
        refuse(format("stage {} holds layers {} … {}: stages hold whole blocks, at least one", s, stage.first,
                      stage.last));
      out_.pp_division.push_back(layers / 2);
    }
  }

  /// Levels other than 3 must be one and the same, which becomes the file's default.
  void fill_default_type() {
    std::set<int32_t> levels;
    for (const auto& s : plan_.layers)
      if (!is_alone(s) && s.zero != 3) levels.insert(s.zero);
    if (levels.contains(1)) refuse("ZeRO level 1: there are 0 (ddp), 2 (zero2) and 3");
    if (levels.contains(0) && levels.contains(2))
      refuse("ZeRO levels 0 and 2 in one plan: all layers but those at level 3 have the same");
    out_.default_dp_type = levels.contains(0) ? "ddp" : "zero2";
  }

  void check_strategy(const std::string& where, const LayerStrategy& s) {
    if (s.tp > 1 && s.sp > 1)
      refuse(format("{}: tp {} with sp {}: a layer has one or the other", where, s.tp, s.sp));
    if (s.ep > 1) refuse(format("{}: ep {}", where, s.ep));
  }

  void fill_block(int64_t layer) {
    const auto& s = plan_.layers[static_cast<size_t>(layer)];
    const auto& mlp = plan_.layers[static_cast<size_t>(layer) + 1];
    const auto where = format("block {}", (layer - 1) / 2);
    if (s != mlp)
      refuse(
          format("{}: attention {}, mlp {}: a block has one strategy", where, to_string(s), to_string(mlp)));
    check_strategy(where, s);
    out_.tp_sizes_enc.push_back(std::max(s.tp, s.sp));
    out_.cp_sizes_enc.push_back(s.cp);
    out_.use_sp.push_back(s.sp > 1 ? 1 : 0);
    out_.dp_types_enc.push_back(s.zero == 3 && !is_alone(s) ? 1 : 0);
    out_.checkpoint.push_back(s.recompute == spec::Recompute::full ? 1 : 0);
  }

  const Plan& plan_;
  const spec::ModelSpec& model_;
  const std::string& file_;
  StrategyFile out_;
  std::vector<std::string> reasons_;
};

}  // namespace

StrategyFile strategy_file_of(const Plan& plan, const spec::ModelSpec& model, const std::string& file) {
  return Exporter(plan, model, file).run();
}

}  // namespace galvatron::plan::galvatron3
