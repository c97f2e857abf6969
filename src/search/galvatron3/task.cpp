// The dynamic programme of Galvatron 3.0 is a shortest path per stage; only its rounding, its transition
// costs and its sums set it apart from ours.
#include "search/galvatron3/task.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace galvatron::search::galvatron3 {
namespace {

using cost::galvatron3::StageSeconds;

constexpr double bytes_per_mb = 1048576;

/// More than any rank has; sums of it stay within 64 bits.
constexpr double most_mb = 1ll << 40;

int64_t whole_mb(double mb) {
  return static_cast<int64_t>(std::ceil(std::min(mb, most_mb)));
}

int64_t bytes_of(double mb) {
  return static_cast<int64_t>(std::ceil(std::min(mb, most_mb) * bytes_per_mb));
}

}  // namespace

Task::Task(const Rules& rules, const SearchOptions& options, const Prices& prices, Mode mode, int64_t width)
    : rules_(rules), options_(options), prices_(prices), mode_(mode), width_(width) {
  const bool gathers = rules.settings().sequence == cost::galvatron3::SequenceSplit::on;
  if (gathers && mode != Mode::sp_only) buffer_mb_ = rules.buffer_mb(prices.step, prices.stages, width);
  for (const auto& layer : prices.layers)
    if (allows(layer.strategy)) layers_.push_back(&layer);
  for (const auto& vocab : prices.vocabs)
    if (allows(vocab.strategy)) vocabs_.push_back(&vocab);
  if (options.grain == Grain::uniform) return;
  make_between();
  make_bounds();
}

bool Task::allows(const Strategy& s) const {
  return s.width() <= width_ && (mode_ != Mode::tp_only || s.sp == 1) &&
         (mode_ != Mode::sp_only || s.tp == 1);
}

void Task::make_between() {
  using namespace cost::galvatron3;
  const bool splits = rules_.settings().sequence == SequenceSplit::on;
  for (const auto* from : layers_)
    for (const auto* to : layers_) {
      const auto &a = from->strategy, &b = to->strategy;
      own_between_.push_back(rules_.redistribution_seconds(a, b, prices_.step, physical_unit));
      published_between_.push_back(splits && a.width() != b.width()
                                       ? rules_.redistribution_seconds(a, b, prices_.step, published_unit)
                                       : Rules::bias_seconds(a, b));
    }
}

void Task::make_bounds() {
  const auto chunks = static_cast<double>(prices_.step.chunks);
  for (size_t stage = 0; stage < prices_.layers_of_stage.size(); ++stage) {
    std::vector<PathChoice> micro, step;
    for (const auto* layer : layers_) {
      const auto bytes = bytes_of(layer->mb[stage]);
      micro.push_back({layer->seconds.without, bytes});
      step.push_back({(chunks - 1) * layer->seconds.without + layer->seconds.with, bytes});
    }
    micro_bounds_.emplace_back(micro);
    step_bounds_.emplace_back(step);
  }
}

int64_t Task::candidates() const {
  return static_cast<int64_t>(options_.grain == Grain::uniform ? layers_.size() : vocabs_.size());
}

double Task::room_mb(const PricedVocab& vocab, size_t stage) const {
  const auto usable = cost::galvatron3::budget_of(options_.memory_mb).usable_mb;
  return static_cast<double>(usable) - vocab.mb[stage] - buffer_mb_;
}

double Task::bound(int64_t candidate) const {
  if (options_.grain == Grain::uniform) return 0;
  const auto& vocab = *vocabs_[static_cast<size_t>(candidate)];
  const size_t last = prices_.layers_of_stage.size() - 1;
  std::vector<StageSeconds> stages;
  for (size_t stage = 0; stage <= last; ++stage) {
    const double bytes = room_mb(vocab, stage) * bytes_per_mb;
    stages.push_back(
        {vocab.seconds[stage].without + micro_bounds_[stage].seconds(prices_.layers_of_stage[stage], bytes),
         0});
  }
  const double pipeline = cost::galvatron3::pipeline_seconds(stages, prices_.step.chunks);
  // What of the last stage's synchronisation is exposed, on top of its own micro-batches.
  const double bytes = room_mb(vocab, last) * bytes_per_mb;
  const double exposed = step_bounds_[last].seconds(prices_.layers_of_stage[last], bytes) +
                         static_cast<double>(prices_.step.chunks - 1) * vocab.seconds[last].without;
  return std::max(pipeline, exposed);
}

std::optional<Miss> Task::miss(int64_t candidate) const {
  if (layers_.empty() || vocabs_.empty()) return std::nullopt;
  const bool uniform = options_.grain == Grain::uniform;
  const auto& vocab = *vocabs_[uniform ? 0 : static_cast<size_t>(candidate)];
  Miss worst;
  for (size_t stage = 0; stage < prices_.layers_of_stage.size(); ++stage) {
    const auto less = [stage](const auto* a, const auto* b) { return a->mb[stage] < b->mb[stage]; };
    const auto& leanest = **std::min_element(layers_.begin(), layers_.end(), less);
    const double needed = static_cast<double>(prices_.layers_of_stage[stage]) * leanest.mb[stage];
    const double lacks = needed - room_mb(vocab, stage);
    if (stage == 0 || lacks > worst.short_mb)
      worst = {prices_.step,     prices_.stages, static_cast<int64_t>(stage),
               leanest.strategy, vocab.strategy, lacks};
  }
  return worst;
}

PathProblem Task::problem_of(const PricedVocab& vocab, size_t stage, Objective objective) const {
  PathProblem problem;
  problem.layers = prices_.layers_of_stage[stage];
  const bool published = objective == Objective::published;
  if (published) {
    problem.budget = cost::galvatron3::budget_of(options_.memory_mb).usable_mb - whole_mb(vocab.mb[stage]) -
                     static_cast<int64_t>(std::floor(std::min(buffer_mb_, most_mb)));
  } else {
    problem.budget =
        static_cast<int64_t>(std::floor(std::max(room_mb(vocab, stage), -most_mb) * bytes_per_mb));
  }
  const auto chunks = static_cast<double>(prices_.step.chunks);
  for (const auto* layer : layers_) {
    const auto& seconds = layer->seconds;
    if (published) {
      problem.choices.push_back({seconds.with, whole_mb(layer->mb[stage])});
    } else {
      const double once = seconds.with - seconds.without;
      problem.choices.push_back({seconds.without + once / chunks, bytes_of(layer->mb[stage])});
    }
  }
  problem.between = published ? published_between_ : own_between_;
  return problem;
}

Found Task::found(const PricedVocab& vocab, const std::vector<std::vector<size_t>>& picks) const {
  Found out;
  out.step = prices_.step;
  out.stages = prices_.stages;
  out.mode = mode_;
  out.buffer_width = width_;
  out.vocab = vocab.strategy;
  std::vector<StageSeconds> stages;
  for (size_t stage = 0; stage < picks.size(); ++stage) {
    StageSeconds seconds = {0, 0};
    out.layers.emplace_back();
    for (const auto pick : picks[stage]) {
      const auto& layer = *layers_[pick];
      out.layers.back().push_back(layer.strategy);
      seconds.micro += layer.seconds.without;
      seconds.last_layers += layer.seconds.with;
    }
    seconds.micro += vocab.seconds[stage].without;
    stages.push_back(seconds);
  }
  out.seconds = cost::galvatron3::pipeline_seconds(stages, prices_.step.chunks);
  return out;
}

std::optional<Found> Task::solve(int64_t candidate, Objective objective, PathStatistics& statistics) const {
  const auto& vocab = *vocabs_[static_cast<size_t>(candidate)];
  std::vector<std::vector<size_t>> picks;
  std::vector<int64_t> left;
  for (size_t stage = 0; stage < prices_.layers_of_stage.size(); ++stage) {
    const auto problem = problem_of(vocab, stage, objective);
    const auto path = shortest_path(problem, statistics);
    if (!path || problem.budget < 0) return std::nullopt;
    const auto unused = problem.budget - path->units;
    left.push_back(objective == Objective::published ? unused : unused / static_cast<int64_t>(bytes_per_mb));
    picks.emplace_back();
    for (const auto& block : path->blocks)
      picks.back().insert(picks.back().end(), static_cast<size_t>(block.layers), block.choice);
  }
  auto out = found(vocab, picks);
  out.objective = objective;
  out.left_mb = std::move(left);
  return out;
}

std::optional<Found> Task::uniform(int64_t candidate) const {
  auto wanted = layers_[static_cast<size_t>(candidate)]->strategy;
  wanted.recompute = spec::Recompute::none;
  const auto vocab =
      std::find_if(vocabs_.begin(), vocabs_.end(), [&](const auto* v) { return v->strategy == wanted; });
  if (vocab == vocabs_.end()) return std::nullopt;
  const auto usable = cost::galvatron3::budget_of(options_.memory_mb).usable_mb;
  std::vector<std::vector<size_t>> picks;
  std::vector<int64_t> left;
  for (size_t stage = 0; stage < prices_.layers_of_stage.size(); ++stage) {
    const auto count = prices_.layers_of_stage[stage];
    const auto each = whole_mb(layers_[static_cast<size_t>(candidate)]->mb[stage]);
    left.push_back(usable - count * each - whole_mb((*vocab)->mb[stage]) - whole_mb(buffer_mb_));
    if (left.back() < 0) return std::nullopt;
    picks.emplace_back(static_cast<size_t>(count), static_cast<size_t>(candidate));
  }
  auto out = found(**vocab, picks);
  out.left_mb = std::move(left);
  return out;
}

}  // namespace galvatron::search::galvatron3
