// Enumeration, cover and draw of plans; legality is asked of the plan room, never guessed.

#include "support/plan_space.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "plan/schedules/lanes.hpp"
#include "program/lower.hpp"
#include "support/layouts.hpp"
#include "support/plan_runs.hpp"

namespace galvatron::testing {
namespace {

using plan::ScheduleKind;
using spec::Recompute;

bool inner(const spec::LayerSpec& layer) {
  return layer.kind == "attention" || layer.kind == "mlp";
}

/// Every way to cut `layers` into `stages` consecutive non-empty parts.
std::vector<std::vector<plan::StageLayers>> cuts(int64_t layers, int64_t stages) {
  std::vector<std::vector<plan::StageLayers>> all;
  std::vector<plan::StageLayers> now;
  const std::function<void(int64_t)> cut = [&](int64_t first) {
    const auto left = stages - static_cast<int64_t>(now.size());
    if (left == 1) {
      now.push_back({first, layers - 1});
      all.push_back(now);
      now.pop_back();
      return;
    }
    for (auto last = first; last <= layers - left; ++last) {
      now.push_back({first, last});
      cut(last + 1);
      now.pop_back();
    }
  };
  cut(0);
  return all;
}

/// What a uniform plan chose, factor by factor.
std::vector<int64_t> choices(const plan::Plan& plan) {
  const auto& s = plan.layers[1];
  int64_t sizes = 0;
  for (const auto& stage : plan.stages) sizes = sizes * 16 + stage.size();
  return {static_cast<int64_t>(plan.stages.size()),
          sizes,
          s.tp,
          s.sp,
          s.cp,
          s.dp,
          s.zero,
          static_cast<int64_t>(s.recompute),
          plan.microbatches,
          static_cast<int64_t>(plan.schedule)};
}

using Pair = std::pair<std::pair<size_t, int64_t>, std::pair<size_t, int64_t>>;

std::set<Pair> pairs_of(const plan::Plan& plan) {
  const auto list = choices(plan);
  std::set<Pair> pairs;
  for (size_t a = 0; a < list.size(); ++a)
    for (size_t b = a + 1; b < list.size(); ++b) pairs.insert({{a, list[a]}, {b, list[b]}});
  return pairs;
}

}  // namespace

spec::ModelSpec variant_model(const Variant& variant, int64_t hidden) {
  auto model = small_model(2, hidden, 12, 37, 12);
  for (auto& layer : model.layers) {
    layer.dims.tied = variant.tied;
    layer.dims.bias = variant.bias;
    layer.dims.kv_heads = variant.kv_heads;
    if (variant.family == Family::gpt) continue;
    layer.dims.norm = core::NormKind::rmsnorm;
    layer.dims.activation = core::ActivationKind::swiglu;
    layer.dims.position = spec::PositionKind::rotary;
  }
  return model;
}

const std::vector<Variant>& variants() {
  static const std::vector<Variant> list = {{true, true, 12},
                                            {false, true, 12},
                                            {true, false, 4},
                                            {false, false, 6},
                                            llama,
                                            {true, true, 2, Family::llama}};
  return list;
}

namespace {

/// The plan with other degrees, everywhere.
plan::Plan split_like(plan::Plan plan, const spec::LayerStrategy& split) {
  for (auto& layer : plan.layers) {
    layer.tp = split.tp;
    layer.sp = split.sp;
    layer.cp = split.cp;
    layer.dp = split.dp;
  }
  return plan;
}

}  // namespace

std::vector<plan::Plan> uniform_plans(const spec::ModelSpec& model, int64_t world, int64_t batch,
                                      const std::vector<int64_t>& micros) {
  std::vector<plan::Plan> plans;
  auto add_cuts = [&](plan::Plan plan, int64_t pp) {
    for (const auto& stages : cuts(model.size(), pp)) {
      plan.stages = stages;
      if (plan::faults_of(plan, model, world).empty()) plans.push_back(plan);
    }
  };
  for (int64_t pp = 1; pp <= std::min(world, model.size()); ++pp) {
    if (world % pp != 0) continue;
    const auto ranks = static_cast<int32_t>(world / pp);
    for (const auto& split : splits_of(ranks))
      for (int32_t zero = 0; zero <= (ranks > 1 ? 3 : pp > 1 ? 1 : 0); ++zero)
        for (const auto recompute : {Recompute::none, Recompute::full})
          for (const auto m : micros)
            for (const auto schedule : {ScheduleKind::one_f_one_b, ScheduleKind::gpipe}) {
              if (pp == 1 && schedule == ScheduleKind::gpipe) continue;
              auto plan = split_like(uniform_plan(model, pp, 1, ranks, zero, recompute, batch, m), split);
              plan.schedule = schedule;
              add_cuts(plan, pp);
            }
  }
  return plans;
}

std::vector<plan::Plan> pairwise_cover(const std::vector<plan::Plan>& plans) {
  std::set<Pair> open;
  std::vector<std::set<Pair>> offered;
  for (const auto& plan : plans) {
    offered.push_back(pairs_of(plan));
    open.insert(offered.back().begin(), offered.back().end());
  }
  std::vector<plan::Plan> cover;
  while (!open.empty()) {
    size_t best = 0, most = 0;
    for (size_t i = 0; i < plans.size(); ++i) {
      const auto news = static_cast<size_t>(std::count_if(
          offered[i].begin(), offered[i].end(), [&](const Pair& pair) { return open.contains(pair); }));
      if (news > most) best = i, most = news;
    }
    for (const auto& pair : offered[best]) open.erase(pair);
    cover.push_back(plans[best]);
  }
  return cover;
}

std::vector<plan::Plan> schedule_plans(const spec::ModelSpec& model, int64_t world, int64_t batch) {
  std::vector<plan::Plan> plans;
  for (int64_t pp = 2; pp <= std::min(world, model.size()); ++pp) {
    if (world % pp != 0) continue;
    for (const auto& row : plan::schedule_table())
      for (int64_t chunks = 1; pp * chunks <= model.size(); ++chunks)
        for (int64_t micros = 1; micros <= batch; ++micros) {
          if (batch % micros != 0) continue;
          auto plan =
              uniform_plan(model, pp, 1, static_cast<int32_t>(world / pp), 1, Recompute::none, batch, micros);
          plan.schedule = row.kind;
          plan.virtual_stages = chunks;
          plan.stages = cuts(model.size(), pp * chunks).front();
          for (int64_t s = 0; s < pp * chunks; ++s)
            plan.stages[static_cast<size_t>(s)] = {s * model.size() / (pp * chunks),
                                                   (s + 1) * model.size() / (pp * chunks) - 1};
          if (plan::faults_of(plan, model, world).empty()) plans.push_back(plan);
        }
  }
  return plans;
}

namespace {

/// Draws what differs between the layers of a plan.
class Draw {
 public:
  Draw(uint64_t seed, uint64_t index) : key_(core::key_of(seed, "mixed plan " + std::to_string(index))) {}

  int64_t below(int64_t bound) { return core::uniform_below(key_, drawn_++, bound); }

  int64_t divisor_of(int64_t n) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= n; ++d)
      if (n % d == 0) divisors.push_back(d);
    return divisors[static_cast<size_t>(below(static_cast<int64_t>(divisors.size())))];
  }

  /// Any way to split `ranks` that the layer allows, or `otherwise` where none is found.
  spec::LayerStrategy split(const spec::LayerSpec& layer, int64_t ranks, int64_t samples,
                            const spec::LayerStrategy& otherwise) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      spec::LayerStrategy s;
      s.tp = static_cast<int32_t>(divisor_of(ranks));
      s.sp = static_cast<int32_t>(divisor_of(ranks / s.tp));
      s.cp = static_cast<int32_t>(divisor_of(ranks / s.tp / s.sp));
      s.dp = static_cast<int32_t>(ranks / s.tp / s.sp / s.cp);
      if (!program::illegal_reason(layer, s, samples)) return s;
    }
    return otherwise;
  }

  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }

 private:
  uint64_t key_, drawn_ = 0;
};

void draw_layers(Draw& draw, const spec::ModelSpec& model, plan::Plan& plan) {
  const bool tied_stages = model.tied() && plan.pipeline_ranks() > 1;
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const bool end = i == 0 || i + 1 == plan.layers.size();
    auto& layer = plan.layers[i];
    // Runs of equal layouts, so that there are layers with and without transitions between them.
    layer = i > 0 && draw.below(2) == 0
                ? plan.layers[i - 1]
                : draw.split(model.layers[i], plan.ranks_per_stage(), plan.samples_per_micro(), layer);
    layer.zero = static_cast<int32_t>(draw.below(tied_stages && end ? 2 : 4));
    layer.recompute = inner(model.layers[i]) && draw.below(2) == 0 ? Recompute::full : Recompute::none;
  }
  if (!model.tied()) return;
  plan.layers.back() = plan.layers.front();
}

}  // namespace

plan::Plan mixed_plan(const spec::ModelSpec& model, int64_t world, int64_t batch, uint64_t seed,
                      uint64_t index) {
  Draw draw(seed, index);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const auto pp = draw.divisor_of(world);
    if (pp > model.size()) continue;
    const auto tp = draw.divisor_of(world / pp);
    auto plan = uniform_plan(model, pp, static_cast<int32_t>(tp), static_cast<int32_t>(world / pp / tp), 0,
                             Recompute::none, batch, draw.divisor_of(batch));
    const auto& rows = plan::schedule_table();
    plan.schedule = rows[static_cast<size_t>(draw.below(static_cast<int64_t>(rows.size())))].kind;
    if (plan.schedule == ScheduleKind::interleaved && pp > 1)
      plan.virtual_stages = 1 + draw.below(model.size() / pp);
    plan.stages = draw.one_of(cuts(model.size(), pp * plan.virtual_stages));
    draw_layers(draw, model, plan);
    if (plan::faults_of(plan, model, world).empty()) return plan;
  }
  throw core::InternalError("no legal mixed plan for " + std::to_string(world) + " ranks");
}

uint64_t test_seed() {
  const char* text = std::getenv("GALVATRON_TEST_SEED");
  return text == nullptr ? 20240229 : std::strtoull(text, nullptr, 10);
}

bool play_everything() {
  return std::getenv("GALVATRON_TEST_FULL") != nullptr;
}

std::string describe(const plan::Plan& plan) {
  std::string text =
      std::to_string(plan.pipeline_ranks()) + " ranks × " + std::to_string(plan.virtual_stages) + " stages ";
  for (size_t s = 0; s < plan.stages.size(); ++s)
    text += (s == 0 ? "" : "+") + std::to_string(plan.stages[s].size());
  text += ", " + std::to_string(plan.microbatches) + " micro-batches of " +
          std::to_string(plan.samples_per_micro()) + ", " + std::string(plan::name_of(plan.schedule)) + ":";
  for (size_t i = 0; i < plan.layers.size(); ++i)
    if (i == 0 || plan.layers[i] != plan.layers[i - 1])
      text += (i == 0 ? " " : " | ") + spec::to_string(plan.layers[i]);
  return text;
}

}  // namespace galvatron::testing
