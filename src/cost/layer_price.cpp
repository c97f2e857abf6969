// Each step gets its duration from its measured signature, or from the machine's peaks where nobody measured
// it. How steps add up to phases is in periods.cpp.
#include "cost/layer_price.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/errors.hpp"
#include "cost/signature.hpp"
#include "spec/mesh.hpp"

namespace galvatron::cost {
namespace {

using program::Phase;
using program::Program;
using program::Step;
using program::StepKind;

template <typename Number>
void put(std::string& key, Number number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Everything that signature_of and work_of read.
void write_key(const Program& program, const Step& step, std::string& key) {
  put(key, step.kind);
  for (const auto* operands : {&step.reads, &step.writes}) {
    put(key, static_cast<uint8_t>(operands->size()));
    for (const auto& operand : *operands) {
      put(key, operand.present() ? operand.rows : int64_t{-1});
      if (!operand.present()) continue;
      put(key, operand.cols);
      put(key, program.value(operand.value).dtype);
    }
  }
  if (const auto* gemm = std::get_if<program::GemmAttributes>(&step.attributes)) {
    for (const auto transpose : {gemm->a, gemm->b}) put(key, transpose);
    put(key, gemm->write);
  } else if (const auto* norm = std::get_if<program::NormAttributes>(&step.attributes)) {
    put(key, norm->kind);
  } else if (const auto* activation = std::get_if<program::ActivationAttributes>(&step.attributes)) {
    put(key, activation->kind);
  } else if (const auto* loss = std::get_if<program::CrossEntropyAttributes>(&step.attributes)) {
    put(key, loss->phase);
  } else if (const auto* a = std::get_if<program::AttentionAttributes>(&step.attributes)) {
    for (const auto count : {a->samples, a->positions, a->pieces, a->heads, a->kv_heads, a->head_dim})
      put(key, count);
    put(key, a->part);
    put(key, a->merge);
  }
}

auto transition_key(const program::TransitionContext& context, const StagePlace& place) {
  return std::tuple(context.from.strategy, context.to.strategy, context.from.samples, context.from.positions,
                    context.cols, context.dtype, place);
}

double log_distance(int64_t a, int64_t b) {
  return std::abs(std::log(static_cast<double>(a) / static_cast<double>(b)));
}

}  // namespace

CostModel::CostModel(const Profile& profile, const spec::ClusterSpec& cluster, const Overlap& overlap)
    : profile_(profile), cluster_(cluster), overlap_(overlap), hardware_(profile.hardware) {
  // Published figures are of devices; copies are kept in the memory of their hosts.
  overlap_.checkpoints = overlap.checkpoints && !profile.hardware.nominal;
  overlap_.saves = overlap.saves && !profile.hardware.nominal;
}

Seconds CostModel::agreement() const {
  const auto ranks = cluster_.ranks();
  const GroupShape world{static_cast<int32_t>(ranks), static_cast<int32_t>(cluster_.nodes),
                         static_cast<int32_t>(cluster_.ranks_per_node)};
  Seconds sum;
  for (const double numbers : {2, 1})
    sum += hardware_.small_reduction(world, numbers * static_cast<double>(sizeof(double)));
  return sum;
}

/// Steps repeat within and between Programs, and making a signature takes longer than playing small ones.
Seconds CostModel::compute_seconds(const Program& program, const Step& step) {
  key_.clear();
  write_key(program, step, key_);
  const auto found = known_.find(key_);
  if (found != known_.end()) return found->second;
  return known_.emplace(key_, price_of_compute(program, step)).first->second;
}

Seconds CostModel::price_of_compute(const Program& program, const Step& step) const {
  const StepSignature signature = signature_of(program, step);
  const auto found = profile_.model.steps.find(signature.key);
  if (found != profile_.model.steps.end() && !found->second.points.empty()) {
    const double seconds = found->second.at(signature.rows);
    return found->second.measured(signature.rows) ? measured_seconds(seconds) : modelled_seconds(seconds);
  }
  if (step.kind == StepKind::gemm) return gemm_seconds(program, step);
  const StepWork work = work_of(program, step);
  const double arithmetic = work.flops > 0 ? work.flops / hardware_.gemm_flops() : 0;
  return modelled_seconds(std::max(arithmetic, work.bytes / hardware_.memory_bytes_per_second()));
}

/// An unmeasured product runs as efficiently as the measured one nearest to it in shape, or at the machine's
/// peak when there is none; never faster than memory allows.
Seconds CostModel::gemm_seconds(const Program& program, const Step& step) const {
  const GemmShape shape = gemm_shape(program, step);
  const GemmKey wanted = gemm_key(shape);
  const double peak = hardware_.gemm_flops();
  double nearest = std::numeric_limits<double>::infinity(), efficiency = 1.0;
  for (auto it = profile_.model.steps.lower_bound("gemm "); it != profile_.model.steps.end(); ++it) {
    const auto key = parse_gemm_key(it->first);
    if (!key) break;
    if (key->dtype != wanted.dtype || key->tokens_are_k != wanted.tokens_are_k || it->second.points.empty())
      continue;
    const double distance = log_distance(key->first, wanted.first) + log_distance(key->second, wanted.second);
    const double seconds = it->second.at(static_cast<double>(shape.tokens()));
    if (distance >= nearest || seconds <= 0) continue;
    nearest = distance;
    const double flops = 2.0 * static_cast<double>(key->first) * static_cast<double>(key->second) *
                         static_cast<double>(shape.tokens());
    efficiency = std::min(1.0, flops / seconds / peak);
  }
  const double arithmetic = shape.flops() / (peak * efficiency);
  return modelled_seconds(
      std::max(arithmetic, work_of(program, step).bytes / hardware_.memory_bytes_per_second()));
}

/// All groups of the axis set meet at the same time; the slowest one counts.
Seconds CostModel::collective_seconds(const DigestCollective& collective, const spec::LayerStrategy& strategy,
                                      const StagePlace& place) {
  Seconds slowest;
  for (const GroupShape& shape : shapes_of(strategy, collective.axes, place)) {
    const Seconds seconds = hardware_.collective(collective.kind, shape, collective.bytes);
    if (seconds.seconds > slowest.seconds) slowest = seconds;
  }
  return slowest;
}

/// A rank's messages share its link, one direction each: the busier direction counts.
Seconds CostModel::exchange_seconds(const Program& program, const Step& step, const StagePlace& place) const {
  const auto& attributes = std::get<program::CollectiveAttributes>(step.attributes);
  const auto rank = place.rank_of(spec::MeshShape(program.strategy, 0).rank_at(program.coordinate));
  const auto sum_of = [&](const std::vector<program::Operand>& blocks, const std::vector<int32_t>& peers) {
    Seconds sum;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const bool same = cluster_.node_of(rank) == cluster_.node_of(place.rank_of(peers[i]));
      sum += hardware_.transfer(same ? Tier::same_node : Tier::across,
                                static_cast<double>(operand_bytes(program, blocks[i])));
    }
    return sum;
  };
  const auto out = sum_of(step.reads, attributes.to), in = sum_of(step.writes, attributes.from);
  return out.seconds > in.seconds ? out : in;
}

/// Neighbouring axes of which all or none belong to the set make the same groups as one axis of their ranks:
/// many strategies share their groups.
spec::LayerStrategy CostModel::joined(const spec::LayerStrategy& s, spec::AxisSet& axes) {
  using spec::Axis;
  struct Run {
    int32_t ranks;
    bool inside;
  };
  std::array<Run, 4> runs{};
  size_t count = 0;
  for (const auto& [axis, ranks] :
       {std::pair{Axis::tp, s.tp}, {Axis::sp, s.sp}, {Axis::cp, s.cp}, {Axis::dp, s.dp}}) {
    if (ranks == 1) continue;
    const bool inside = axes.contains(axis);
    if (count > 0 && runs[count - 1].inside == inside)
      runs[count - 1].ranks *= ranks;
    else
      runs[count++] = {ranks, inside};
  }
  spec::LayerStrategy out;
  spec::AxisSet joined;
  if (axes.contains(Axis::tie)) joined = Axis::tie;
  const std::array<std::pair<Axis, int32_t*>, 4> places = {
      {{Axis::tp, &out.tp}, {Axis::sp, &out.sp}, {Axis::cp, &out.cp}, {Axis::dp, &out.dp}}};
  for (size_t i = 0; i < count; ++i) {
    *places[i].second = runs[i].ranks;
    if (runs[i].inside) joined = joined | spec::AxisSet(places[i].first);
  }
  axes = joined;
  return out;
}

const std::vector<GroupShape>& CostModel::shapes_of(const spec::LayerStrategy& strategy, spec::AxisSet axes,
                                                    const StagePlace& place) {
  const spec::LayerStrategy s = joined(strategy, axes);
  auto& shapes = shapes_[{s.tp, s.sp, s.cp, s.dp, axes.bits(), place}];
  if (!shapes.empty()) return shapes;
  // The other holder may come before this stage: whole nodes are added so that no rank is negative.
  const int64_t nodes_before =
      (std::max<int64_t>(-place.tie_distance, 0) + cluster_.ranks_per_node - 1) / cluster_.ranks_per_node;
  const int64_t first_rank = place.first_rank + nodes_before * cluster_.ranks_per_node;
  for (auto group : spec::MeshShape(s, 0).groups(axes)) {
    for (int& member : group) member = static_cast<int>(first_rank + member * place.stride);
    if (axes.contains(spec::Axis::tie)) {
      const auto own = group.size();
      for (size_t i = 0; i < own; ++i) group.push_back(group[i] + static_cast<int>(place.tie_distance));
    }
    const GroupShape shape = shape_of(group, cluster_.ranks_per_node);
    if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
  }
  return shapes;
}

LayerPricer::LayerPricer(const Profile& profile, const spec::ClusterSpec& cluster,
                         const program::WorkspaceRule& workspace, const Overlap& overlap)
    : model_(profile, cluster, overlap), workspace_(workspace) {}

/// Whole nodes further on everything lies the same way, and so it does where stages fill nodes evenly.
int64_t LayerPricer::canonical(int64_t first_rank, int64_t ranks, int64_t stride) const {
  const int64_t per_node = model_.cluster().ranks_per_node;
  if (stride > 1 && first_rank < stride && (per_node % stride == 0 || stride % per_node == 0)) return 0;
  if (stride > 1) return first_rank % per_node;
  if (first_rank % ranks == 0 && per_node % ranks == 0) return 0;
  return first_rank % per_node;
}

/// Models have few different layers; their numbers compare faster than they do.
size_t LayerPricer::number_of(const spec::LayerSpec& layer) {
  const auto found = std::find_if(layers_.begin(), layers_.end(),
                                  [&](const KnownLayer& known) { return known.spec == layer; });
  const auto number = static_cast<size_t>(found - layers_.begin());
  if (found == layers_.end()) layers_.push_back({layer, std::nullopt});
  return number;
}

const LayerPrice& LayerPricer::price(const spec::LayerSpec& layer, const program::LayerContext& context,
                                     StagePlace place) {
  GALV_ASSERT(context.coordinate == spec::Coordinate{}, context.coordinate.tp, context.coordinate.dp);
  // The other holder of a tied table may be on the same node as one stage and not as another.
  place.first_rank = place.tie_distance != 0 && context.tie == program::TieScope::across_stages
                         ? place.first_rank % model_.cluster().ranks_per_node
                         : canonical(place.first_rank, context.strategy.ranks(), place.stride);
  if (context.tie != program::TieScope::across_stages) place.tie_distance = 0;
  const Key key = key_of(layer, context, place);
  const auto found = prices_.find(key);
  if (found != prices_.end()) return found->second;
  // What stands for the layer may be legal where it is not: then its own Program says why.
  if (program::illegal_reason(layer, context.strategy, context.samples * context.strategy.dp))
    program::lower(layer, context, workspace_);
  return prices_.emplace(key, model_.price(digests(layer, context), context.strategy, context.samples, place))
      .first->second;
}

program::MemoryNeed LayerPricer::memory(const spec::LayerSpec& layer, const program::LayerContext& context) {
  return digests(layer, context).memory();
}

bool LayerPricer::attends(const spec::LayerSpec& layer, const program::LayerContext& context) {
  auto& known = layers_[number_of(layer)].attends;
  if (!known) {
    const bool found = digest(layer, context).attends;
    layers_[number_of(layer)].attends = found;
    return found;
  }
  return *known;
}

/// A layer computes the same whatever its replicas are, and its groups do the same whatever it computes; cp
/// and dp make up their replicas together. Without attention a row does not care which sample it is of, nor
/// whether sp or cp gave it to this rank.
DigestPair LayerPricer::digests(const spec::LayerSpec& layer, const program::LayerContext& context) {
  auto compute = context, groups = context;
  compute.strategy.dp = 1;
  compute.strategy.zero = 0;
  groups.strategy.dp *= groups.strategy.cp;
  groups.strategy.cp = 1;
  groups.strategy.recompute = spec::Recompute::none;
  groups.samples = 1;
  if (!attends(layer, compute)) {
    auto& s = compute.strategy;
    const auto cuts = static_cast<int32_t>(std::gcd(compute.samples, int64_t{s.sp} * s.cp));
    compute.samples /= cuts;
    s.sp = s.sp * s.cp / cuts;
    s.cp = 1;
    groups.strategy.dp *= groups.strategy.sp;
    groups.strategy.sp = 1;
  }
  return {digest(layer, compute), digest(layer, groups)};
}

const Digest& LayerPricer::digest(const spec::LayerSpec& layer, const program::LayerContext& context) {
  const Key key = key_of(layer, context, {});
  const auto found = digests_.find(key);
  if (found != digests_.end()) return found->second;
  ++lowered_;
  return digests_.emplace(key, model_.digest(program::lower(layer, context, workspace_), {})).first->second;
}

LayerPricer::Key LayerPricer::key_of(const spec::LayerSpec& layer, const program::LayerContext& context,
                                     const StagePlace& place) {
  const auto& s = context.strategy;
  const auto pair = [](int64_t high, int64_t low) { return high << 32 | low; };
  return {static_cast<int64_t>(number_of(layer)),
          pair(s.tp, s.sp),
          pair(s.cp, s.dp),
          pair(s.ep, s.zero * 2 + static_cast<int64_t>(s.recompute)),
          context.samples,
          pair(static_cast<int64_t>(context.dtype), static_cast<int64_t>(context.tie)),
          place.first_rank,
          place.stride,
          place.tie_distance};
}

size_t LayerPricer::KeyHash::operator()(const Key& key) const noexcept {
  uint64_t hash = 0;
  for (const int64_t part : key) {
    hash = (hash ^ static_cast<uint64_t>(part)) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  return static_cast<size_t>(hash);
}

/// Where both layouts cut the samples evenly, ranks that share a common part of them do not talk to others:
/// the moves repeat along the stage, and those of the first such ranks stand for all.
program::TransitionContext LayerPricer::smallest(program::TransitionContext context, StagePlace place) const {
  const int64_t ranks = context.to.strategy.ranks();
  // Ranks of the stage that a node has.
  const int64_t per_node = std::max<int64_t>(1, model_.cluster().ranks_per_node / place.stride);
  auto &from = context.from.strategy, &to = context.to.strategy;
  const auto in_node = model_.cluster().ranks_per_node;
  if (place.stride > 1 && in_node % place.stride != 0 && place.stride % in_node != 0) return context;
  if (place.first_rank != 0 || context.from.samples % from.dp != 0 || context.from.samples % to.dp != 0)
    return context;
  const int32_t parts = std::gcd(from.dp, to.dp);
  const int64_t block = ranks / parts;
  if (per_node % block != 0 && block % per_node != 0) return context;
  from.dp /= parts;
  to.dp /= parts;
  context.from.samples /= parts;
  context.to.samples /= parts;
  return context;
}

double LayerPricer::floor_seconds(program::TransitionContext context, StagePlace place) {
  place = {canonical(place.first_rank, context.to.strategy.ranks(), place.stride), place.stride};
  context = smallest(context, place);
  const auto [found, fresh] = floors_.try_emplace(transition_key(context, place), 0.0);
  if (!fresh) return found->second;
  context.rank = context.to.strategy.ranks() / 2;
  const auto price = model_.price(program::transition(context), place);
  return found->second = price.seconds(Phase::forward) + price.seconds(Phase::backward);
}

const TransitionPrice& LayerPricer::price(const program::TransitionContext& context, StagePlace place) {
  place = {canonical(place.first_rank, context.to.strategy.ranks(), place.stride), place.stride};
  auto each = smallest(context, place);
  auto [found, fresh] = transitions_.try_emplace(transition_key(each, place));
  if (!fresh) return found->second;
  auto& price = found->second;
  double most = -1;
  for (each.rank = 0; each.rank < each.to.strategy.ranks(); ++each.rank) {
    const auto one = model_.price(program::transition(each), place);
    price.members.push_back(one.memory);
    const double seconds = one.seconds(Phase::forward) + one.seconds(Phase::backward);
    if (seconds <= most) continue;
    most = seconds;
    price.slowest = one;
  }
  return price;
}

}  // namespace galvatron::cost
