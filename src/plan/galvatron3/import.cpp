// From the strategy file to a plan.
#include <algorithm>
#include <numeric>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "plan/galvatron3/strategy_file.hpp"

namespace galvatron::plan::galvatron3 {
namespace {

using core::format;

class Importer {
 public:
  Importer(const StrategyFile& strategies, const spec::ModelSpec& model, int64_t world,
           const std::string& file)
      : strategies_(strategies), model_(model), world_(world), file_(file) {}

  Plan run() {
    check_counts();
    refuse_faults();
    Plan plan;
    plan.world = world_;
    plan.batch = strategies_.global_bsz;
    plan.microbatches = strategies_.chunks;
    plan.schedule = strategies_.pipeline_type == "gpipe" ? ScheduleKind::gpipe : ScheduleKind::one_f_one_b;
    plan.stages = stages();
    fill_layers(plan);
    refuse_faults();
    for (const auto& fault : faults_of(plan, model_, world_)) faults_.push_back(fault);
    refuse_faults();
    return plan;
  }

 private:
  int64_t blocks() const { return static_cast<int64_t>(strategies_.tp_sizes_enc.size()); }

  void check_list(const char* key, const std::vector<int64_t>& list) {
    if (static_cast<int64_t>(list.size()) != blocks())
      faults_.push_back(format("key '{}': {} entries, but tp_sizes_enc has {}", key, list.size(), blocks()));
  }

  void check_counts() {
    const auto& f = strategies_;
    if (const auto reason = no_blocks(model_); !reason.empty()) {
      faults_.push_back(reason);
    } else if (2 * blocks() + 2 != model_.size()) {
      faults_.push_back(format("key 'tp_sizes_enc': {} entries, but the model has {} blocks", blocks(),
                               (model_.size() - 2) / 2));
    }
    check_list("cp_sizes_enc", f.cp_sizes_enc);
    check_list("dp_types_enc", f.dp_types_enc);
    check_list("use_sp", f.use_sp);
    check_list("checkpoint", f.checkpoint);
    if (f.world_size != 0 && f.world_size != world_)
      faults_.push_back(format("key 'world_size': {}, but there are {} ranks", f.world_size, world_));
    if (world_ % f.pp_deg != 0)
      faults_.push_back(format("key 'pp_deg': {} does not divide {} ranks", f.pp_deg, world_));
    if (f.pp_deg > blocks())
      faults_.push_back(format("key 'pp_deg': {} stages for {} blocks", f.pp_deg, blocks()));
    if (f.pp_division.empty()) return;
    const auto sum = std::accumulate(f.pp_division.begin(), f.pp_division.end(), int64_t{0});
    if (static_cast<int64_t>(f.pp_division.size()) != f.pp_deg || sum != blocks())
      faults_.push_back(format("key 'pp_division': {} stages of {} blocks together, not {} of {}",
                               f.pp_division.size(), sum, f.pp_deg, blocks()));
  }

  void refuse_faults() const {
    if (!faults_.empty())
      throw core::UserError(format("{}: {}", file_, core::join(faults_, format("\n{}: ", file_))));
  }

  std::vector<StageLayers> stages() const {
    const auto division =
        strategies_.pp_division.empty() ? even_stages(blocks(), strategies_.pp_deg) : strategies_.pp_division;
    std::vector<StageLayers> out;
    int64_t next = 0;
    for (size_t s = 0; s < division.size(); ++s) {
      const int64_t layers = 2 * division[s] + (s == 0 ? 1 : 0) + (s + 1 == division.size() ? 1 : 0);
      out.push_back({next, next + layers - 1});
      next += layers;
    }
    return out;
  }

  /// `key` is the one that names the width.
  spec::LayerStrategy strategy(const std::string& key, int64_t width, int64_t cp, int64_t ulysses,
                               int64_t zero3) {
    const int64_t ranks = world_ / strategies_.pp_deg;
    // Both are checked against `ranks` first, so that their product cannot overflow.
    if (width > ranks || cp > ranks || ranks % (width * cp) != 0) {
      faults_.push_back(
          format("{}: {} × cp {} does not divide the {} ranks of a stage", key, width, cp, ranks));
      return {};
    }
    spec::LayerStrategy s;
    (ulysses == 1 ? s.sp : s.tp) = static_cast<int32_t>(width);
    s.cp = static_cast<int32_t>(cp);
    s.dp = static_cast<int32_t>(ranks / (width * cp));
    if (!is_alone(s)) s.zero = zero3 == 1 ? 3 : strategies_.default_dp_type == "zero2" ? 2 : 0;
    return s;
  }

  void fill_layers(Plan& plan) {
    const auto& f = strategies_;
    auto vocab = strategy("key 'vtp'", f.vtp, f.vcp, f.vsp, f.embed_sdp);
    if (model_.tied() && f.pp_deg > 1) vocab.zero = std::min(vocab.zero, 1);
    plan.layers = {vocab};
    for (size_t i = 0; i < f.tp_sizes_enc.size(); ++i) {
      auto s = strategy(format("key 'tp_sizes_enc', block {}", i), f.tp_sizes_enc[i], f.cp_sizes_enc[i],
                        f.use_sp[i], f.dp_types_enc[i]);
      if (f.checkpoint[i] == 1) s.recompute = spec::Recompute::full;
      plan.layers.insert(plan.layers.end(), 2, s);
    }
    plan.layers.push_back(vocab);
  }

  const StrategyFile& strategies_;
  const spec::ModelSpec& model_;
  int64_t world_;
  const std::string& file_;
  std::vector<std::string> faults_;
};

}  // namespace

Plan plan_of(const StrategyFile& strategies, const spec::ModelSpec& model, int64_t world,
             const std::string& file) {
  return Importer(strategies, model, world, file).run();
}

}  // namespace galvatron::plan::galvatron3
