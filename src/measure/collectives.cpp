// The samples are reduced over all ranks before anyone looks at them, so every rank decides alike and the
// slowest group counts.
#include "measure/collectives.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "measure/collective_call.hpp"
#include "measure/sampler.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {
namespace {

using core::CollectiveKind;

/// One group shape and one form with this rank's live group, if it is in one.
struct LiveSet {
  cost::GroupShape shape;
  core::Form form = core::Form::direct;
  std::unique_ptr<comm::Communicator> mine;
};

bool can(core::Form form, CollectiveKind kind, const cost::GroupShape& shape) {
  return core::form_fault(form, kind, shape.ranks, shape.nodes, shape.per_node).empty();
}

/// All kinds in one form, as far as there is one.
core::FormTable always(core::Form form, const std::vector<CollectiveKind>& kinds,
                       const cost::GroupShape& shape) {
  core::FormTable table;
  for (const auto kind : kinds)
    if (can(form, kind, shape)) table.rows.push_back({kind, 0, form});
  return table;
}

/// By shape, direct first.
std::vector<std::vector<LiveSet>> make_live(comm::World& world, const std::vector<GroupSet>& sets,
                                            const std::vector<CollectiveKind>& kinds) {
  std::vector<std::vector<LiveSet>> out;
  for (const auto& set : sets) {
    auto& forms = out.emplace_back();
    for (const auto form : {core::Form::direct, core::Form::hierarchical, core::Form::shared}) {
      const auto table = always(form, kinds, set.shape);
      if (form != core::Form::direct && table.rows.empty()) continue;
      LiveSet live{set.shape, form, nullptr};
      for (const auto& group : set.groups)
        if (std::find(group.begin(), group.end(), world.rank()) != group.end())
          live.mine = world.make_communicator(group, comm::TrafficClass::layer, table);
      forms.push_back(std::move(live));
    }
  }
  return out;
}

bool same(const core::FormChoice& choice, const cost::CollectiveKey& key) {
  return choice.row.kind == key.kind &&
         cost::GroupShape{choice.ranks, choice.nodes, choice.per_node} == key.shape;
}

/// The rows of one curve: where the fastest form changes, from that size on; the first one from 0 on. Sizes
/// come in ascending order.
void store_form(const cost::CollectiveKey& key, double bytes, core::Form form,
                cost::HardwareProfile& profile) {
  core::Form before = core::Form::direct;
  bool first = true;
  for (const auto& choice : profile.forms) {
    if (!same(choice, key)) continue;
    before = choice.row.form;
    first = false;
  }
  if (form == before) return;
  const bool smallest = first && profile.collectives[key].points.size() == 1;
  profile.forms.push_back({key.shape.ranks,
                           key.shape.nodes,
                           key.shape.per_node,
                           {key.kind, smallest ? 0 : static_cast<int64_t>(bytes), form}});
  std::sort(profile.forms.begin(), profile.forms.end());
}

/// Two flat buffers of f32 and the calls on them.
class CollectiveBench {
 public:
  CollectiveBench(comm::World& world, device::Device& device, int64_t largest_elements)
      : world_(world),
        in_(device, largest_elements * core::size_of(core::DType::f32)),
        out_(device, largest_elements * core::size_of(core::DType::f32)) {}

  /// Slowest rank's samples of one point, the same on every rank. Collective over the world.
  std::vector<double> samples(const LiveSet& set, CollectiveKind kind, int64_t elements,
                              const SampleRule& rule) {
    Sampler sampler(rule);
    for (auto count = sampler.next_batch(); count > 0; count = sampler.next_batch()) {
      std::vector<double> batch(static_cast<size_t>(count), 0.0);
      const double begin = now_seconds();
      for (auto& sample : batch)
        if (set.mine) sample = once(*set.mine, kind, elements);
      batch.push_back(now_seconds() - begin);
      world_.all_reduce(std::span<double>(batch), comm::ReduceOp::max);
      sampler.add(std::span(batch).first(static_cast<size_t>(count)), batch.back());
    }
    return sampler.samples();
  }

 private:
  double once(comm::Communicator& group, CollectiveKind kind, int64_t elements) {
    group.barrier();
    const double begin = now_seconds();
    call(group, kind, in_.data(), out_.data(), elements);
    return now_seconds() - begin;
  }

  comm::World& world_;
  device::Buffer in_, out_;  // zeros: sums of them stay zeros, whatever is repeated
};

std::string name_of(const LiveSet& set, CollectiveKind kind) {
  return core::format("{} {}, {} ranks on {} nodes, {} on one", core::name_of(kind), core::name_of(set.form),
                      set.shape.ranks, set.shape.nodes, set.shape.per_node);
}

/// One size of one kind in all forms of a shape: the fastest goes into the profile.
void measure_point(CollectiveBench& bench, const std::vector<LiveSet>& forms, CollectiveKind kind,
                   int64_t elements, const SampleRule& rule, cost::HardwareProfile& profile,
                   store::RawTable& raw) {
  const cost::CollectiveKey key{kind, forms.front().shape};
  const auto x = static_cast<double>(elements * core::size_of(core::DType::f32));
  auto best_form = core::Form::direct;
  Summary best;
  double to_beat = 0;
  for (const auto& set : forms) {
    if (!can(set.form, kind, set.shape)) continue;
    auto samples = bench.samples(set, kind, elements, rule);
    const auto summary = summarise(samples);
    raw.series.push_back({name_of(set, kind), x, -1, std::move(samples)});
    const bool direct = set.form == core::Form::direct;
    if (!direct && summary.median >= to_beat) continue;
    best = summary;
    best_form = set.form;
    to_beat = summary.median * (direct ? 1 - form_gain : 1);
  }
  profile.collectives[key].points.push_back(point_of(x, best));
  store_form(key, x, best_form, profile);
}

/// Whether the curve of this point reaches it: sizes come in ascending order, and rounding up to the group's
/// size may let two fall together.
bool known(const cost::HardwareProfile& profile, const cost::CollectiveKey& key, int64_t elements) {
  const auto curve = profile.collectives.find(key);
  return curve != profile.collectives.end() && !curve->second.points.empty() &&
         curve->second.points.back().x >= static_cast<double>(elements * core::size_of(core::DType::f32));
}

/// A point that is still to be measured, in the order in which that is done.
struct Point {
  const std::vector<LiveSet>* forms;
  CollectiveKind kind;
  int64_t elements;
};

}  // namespace

CollectiveCoverage measure_collectives(comm::World& world, device::Device& device,
                                       const std::vector<GroupSet>& sets, const CollectiveOptions& options,
                                       Budget& budget, cost::HardwareProfile& profile, store::RawTable& raw) {
  raw.x_unit = "B";
  raw.meaning = "one call after a barrier of its group, over bytes of the whole tensor";
  const auto sizes = options.sizes.empty() ? geometric_sizes(core::kib, 16 * core::mib, 4) : options.sizes;
  CollectiveCoverage coverage;
  coverage.wanted = static_cast<int64_t>(sets.size() * sizes.size() * options.kinds.size());
  if (sets.empty()) return coverage;
  const auto live = make_live(world, sets, options.kinds);
  std::vector<Point> points;
  int64_t largest = 0;
  for (const auto bytes : sizes) {
    for (const auto& forms : live) {
      const auto shape = forms.front().shape;
      const auto elements = elements_for(bytes, shape.ranks);
      largest = std::max(largest, elements);
      for (const auto kind : options.kinds)
        if (!known(profile, {kind, shape}, elements)) points.push_back({&forms, kind, elements});
    }
  }
  coverage.measured = coverage.kept = coverage.wanted - static_cast<int64_t>(points.size());
  if (points.empty()) return coverage;
  CollectiveBench bench(world, device, largest);
  for (const auto& [forms, kind, elements] : points) {
    budget.note(coverage.measured, coverage.wanted, "points");
    const double left = budget.left();
    if (left <= 0) return coverage;
    SampleRule rule;
    rule.target = options.iterations;
    rule.seconds =
        std::min(options.seconds_per_point, left / static_cast<double>(coverage.wanted - coverage.measured)) /
        static_cast<double>(forms->size());
    if (!known(profile, {kind, forms->front().shape}, elements))
      measure_point(bench, *forms, kind, elements, rule, profile, raw);
    ++coverage.measured;
  }
  return coverage;
}

}  // namespace galvatron::measure
