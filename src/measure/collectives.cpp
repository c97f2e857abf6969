// The samples are reduced over all ranks before anyone looks at them, so every rank decides alike and the
// slowest group counts.
#include "measure/collectives.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "core/errors.hpp"
#include "core/units.hpp"
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

/// The rows of one curve: where the fastest form changes, from that size on; the first one from 0 on.
void store_form(const cost::CollectiveKey& key, double bytes, core::Form form,
                cost::HardwareProfile& profile) {
  core::Form before = core::Form::direct;
  bool first = true;
  for (const auto& choice : profile.forms) {
    if (choice.row.kind != key.kind || choice.ranks != key.shape.ranks || choice.nodes != key.shape.nodes ||
        choice.per_node != key.shape.per_node)
      continue;
    before = choice.row.form;  // in the order of sizes
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

/// Elements of the whole tensor for about `bytes`: a multiple of the group's size.
int64_t elements_for(int64_t bytes, int64_t ranks) {
  const int64_t elements = std::max<int64_t>(bytes / core::size_of(core::DType::f32), 1);
  return (elements + ranks - 1) / ranks * ranks;
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
    const auto whole_in = device::vector(in_.data(), core::DType::f32, elements);
    const auto whole_out = device::vector(out_.data(), core::DType::f32, elements);
    const auto part_in = device::vector(in_.data(), core::DType::f32, elements / group.size());
    const auto part_out = device::vector(out_.data(), core::DType::f32, elements / group.size());
    group.barrier();
    const double begin = now_seconds();
    switch (kind) {
      case CollectiveKind::all_reduce:
        group.all_reduce(whole_in, core::ReduceOp::sum);
        break;
      case CollectiveKind::all_gather:
        group.all_gather(part_in, whole_out);
        break;
      case CollectiveKind::reduce_scatter:
        group.reduce_scatter(whole_in, part_out);
        break;
      case CollectiveKind::all_to_all:
        group.all_to_all(whole_in, whole_out);
        break;
      case CollectiveKind::broadcast:
        group.broadcast(whole_in, 0);
        break;
      case CollectiveKind::shift:
      case CollectiveKind::exchange:
        throw core::InternalError(
            "messages between pairs are priced by the links, not measured as collectives");
    }
    return now_seconds() - begin;
  }

  comm::World& world_;
  device::Buffer in_, out_;  // zeros: sums of them stay zeros, whatever is repeated
};

/// One size of one kind in all forms of a shape: the fastest goes into the profile.
void measure_point(CollectiveBench& bench, const std::vector<LiveSet>& forms, CollectiveKind kind,
                   int64_t elements, const SampleRule& rule, cost::HardwareProfile& profile) {
  const cost::CollectiveKey key{kind, forms.front().shape};
  const auto x = static_cast<double>(elements * core::size_of(core::DType::f32));
  auto best_form = core::Form::direct;
  Summary best;
  double to_beat = 0;
  for (const auto& set : forms) {
    if (!can(set.form, kind, set.shape)) continue;
    const auto summary = summarise(bench.samples(set, kind, elements, rule));
    const bool direct = set.form == core::Form::direct;
    if (!direct && summary.median >= to_beat) continue;
    best = summary;
    best_form = set.form;
    to_beat = summary.median * (direct ? 1 - form_gain : 1);
  }
  auto& points = profile.collectives[key].points;
  // Rounding up to the group's size may let two sizes fall together.
  if (!points.empty() && points.back().x >= x) return;
  points.push_back({x, std::max(best.median, 1e-9), best.minimum, best.p95, best.p99,
                    best.coefficient_of_variation, best.samples});
  store_form(key, x, best_form, profile);
}

}  // namespace

std::vector<int> nodes_of_ranks(const comm::World& world) {
  std::vector<int> out;
  for (int r = 0; r < world.size(); ++r) out.push_back(world.node_of(r));
  return out;
}

cost::GroupShape shape_of(const std::vector<int>& ranks, const std::vector<int>& node_of) {
  std::map<int, int32_t> per_node;
  for (const int rank : ranks) ++per_node[node_of.at(static_cast<size_t>(rank))];
  cost::GroupShape shape{static_cast<int32_t>(ranks.size()), static_cast<int32_t>(per_node.size()), 0};
  for (const auto& [node, count] : per_node) shape.per_node = std::max(shape.per_node, count);
  return shape;
}

std::vector<GroupSet> group_sets(const std::vector<int>& node_of) {
  const auto world = static_cast<int>(node_of.size());
  std::map<cost::GroupShape, std::vector<std::vector<int>>> by_shape;
  // The first arrangement that yields a shape gives the groups which are measured for it.
  const auto offer = [&](const std::vector<std::vector<int>>& groups) {
    std::map<cost::GroupShape, std::vector<std::vector<int>>> offered;
    for (const auto& group : groups) offered[shape_of(group, node_of)].push_back(group);
    for (auto& [shape, members] : offered) by_shape.try_emplace(shape, std::move(members));
  };
  for (int degree = 2; degree <= world; ++degree) {
    for (int stride = 1; degree * stride <= world; ++stride) {
      if (world % (degree * stride) != 0) continue;
      std::vector<std::vector<int>> groups;
      for (int block = 0; block < world; block += degree * stride) {
        for (int first = 0; first < stride; ++first) {
          auto& group = groups.emplace_back();
          for (int i = 0; i < degree; ++i) group.push_back(block + first + i * stride);
        }
      }
      offer(groups);
    }
  }
  for (int stages = 2; stages <= world; ++stages) {
    if (world % stages != 0) continue;
    const int per_stage = world / stages;
    std::vector<std::vector<int>> pairs;
    for (int r = 0; r < per_stage; ++r) pairs.push_back({r, r + (stages - 1) * per_stage});
    offer(pairs);
  }
  std::vector<GroupSet> out;
  for (auto& [shape, groups] : by_shape) out.push_back({shape, std::move(groups)});
  return out;
}

CollectiveCoverage measure_collectives(comm::World& world, device::Device& device,
                                       const std::vector<GroupSet>& sets, const CollectiveOptions& options,
                                       Budget& budget, cost::HardwareProfile& profile) {
  const auto sizes = options.sizes.empty() ? geometric_sizes(core::kib, 16 * core::mib, 4) : options.sizes;
  CollectiveCoverage coverage;
  coverage.wanted = static_cast<int64_t>(sets.size() * sizes.size() * options.kinds.size());
  if (sets.empty()) return coverage;
  const auto live = make_live(world, sets, options.kinds);
  int64_t largest = 0;
  for (const auto& set : sets) largest = std::max(largest, elements_for(sizes.back(), set.shape.ranks));
  CollectiveBench bench(world, device, largest);

  for (const auto bytes : sizes) {
    for (const auto& forms : live) {
      for (const auto kind : options.kinds) {
        const double left = budget.left();
        if (left <= 0) return coverage;
        SampleRule rule;
        rule.target = options.iterations;
        rule.seconds = std::min(options.seconds_per_point,
                                left / static_cast<double>(coverage.wanted - coverage.measured)) /
                       static_cast<double>(forms.size());
        measure_point(bench, forms, kind, elements_for(bytes, forms.front().shape.ranks), rule, profile);
        ++coverage.measured;
      }
    }
  }
  return coverage;
}

}  // namespace galvatron::measure
