// Runs of flat buffers become pieces of global tensors, one for one.

#include "runtime/snapshot.hpp"

#include <map>

#include "core/errors.hpp"
#include "program/pieces.hpp"

namespace galvatron::runtime {
namespace {

/// A flat buffer that holds [begin, begin + count) of a group.
struct Slice {
  const char* prefix;
  const char* suffix;
  std::byte* data;
  int64_t begin, count;
};

std::vector<Slice> slices_of(const program::ParameterGroup& group, const GroupAddresses& at,
                             SnapshotUse use) {
  const auto shard = group.shard(), mine = group.replica_index * shard;
  const bool whole_weights = use == SnapshotUse::loading && group.zero < 3;
  const bool whole_state = use == SnapshotUse::loading && group.zero < 1;
  // The optimizer's state is whole without ZeRO, so a slice of it starts inside the buffer.
  const auto skip = group.zero < 1 && !whole_state ? mine * core::size_of(group.accumulator()) : 0;
  const auto begin = whole_state ? 0 : mine, count = whole_state ? group.padded : shard;
  auto state = [&](const char* prefix, const char* suffix, std::byte* data) {
    return Slice{prefix, suffix, data + skip, begin, count};
  };
  auto weights = [&] {
    if (group.has_master()) return state("model/", "", at.master);
    return whole_weights ? Slice{"model/", "", at.weights, 0, group.padded}
                         : Slice{"model/", "", at.weight_shard, mine, shard};
  };
  return {weights(), state("optimizer/", "/exp_avg", at.exp_avg),
          state("optimizer/", "/exp_avg_sq", at.exp_avg_sq)};
}

}  // namespace

std::vector<store::TensorInfo> tensors_of(const spec::ModelSpec& model, core::DType precision) {
  const auto dtype = core::accumulator_of(precision);
  std::vector<store::TensorInfo> tensors;
  for (int64_t layer = 0; layer < model.size(); ++layer) {
    for (const auto& p : program::parameters_of(model.layers[static_cast<size_t>(layer)])) {
      if (!p.owner.empty()) continue;
      const auto name = model.names[static_cast<size_t>(layer)] + "." + p.name;
      const auto shape = p.rows > 1 ? std::vector<int64_t>{p.rows, p.cols} : std::vector<int64_t>{p.cols};
      tensors.push_back({"model/" + name, shape, dtype});
      tensors.push_back({"optimizer/" + name + "/exp_avg", shape, dtype});
      tensors.push_back({"optimizer/" + name + "/exp_avg_sq", shape, dtype});
    }
  }
  return tensors;
}

namespace {

/// Pieces of all groups that this rank stores; `slices` says which buffers of a group are meant.
template <class Slices>
std::vector<store::Piece> collect(Stage& stage, const spec::ModelSpec& model,
                                  const std::vector<store::TensorInfo>& tensors, const Slices& slices) {
  std::map<std::string, int64_t> index;
  for (size_t i = 0; i < tensors.size(); ++i) index[tensors[i].name] = static_cast<int64_t>(i);
  std::vector<store::Piece> pieces;
  for (size_t i = 0; i < stage.layers(); ++i) {
    if (stage.program().layers[i].layer == plan::FlowItem::transition) continue;
    const auto& at = stage.addresses(i, 0);
    const auto& layer = model.names[static_cast<size_t>(stage.program().layers[i].layer)];
    for (size_t g = 0; g < at.groups.size(); ++g) {
      const auto& group = at.program->groups[g];
      if (!group.stored_here()) continue;
      for (const Slice& slice : slices(group, at.groups[g])) {
        for (const auto& run : program::runs_of(group, slice.begin, slice.begin + slice.count)) {
          const auto& p = group.parameters[static_cast<size_t>(run.parameter)];
          const auto name = slice.prefix + program::tensor_name(p, layer) + slice.suffix;
          const auto found = index.find(name);
          GALV_ASSERT(found != index.end(), name);
          const auto size = core::size_of(group.accumulator());
          pieces.push_back({found->second, run.global, run.count,
                            slice.data + (run.local - slice.begin) * size, run.times, run.global_stride,
                            run.local_stride * size});
        }
      }
    }
  }
  return pieces;
}

}  // namespace

std::vector<store::Piece> pieces_of(Stage& stage, const spec::ModelSpec& model,
                                    const std::vector<store::TensorInfo>& tensors, SnapshotUse use) {
  return collect(stage, model, tensors, [&](const program::ParameterGroup& group, const GroupAddresses& at) {
    return slices_of(group, at, use);
  });
}

std::vector<store::Piece> gradient_pieces_of(Stage& stage, const spec::ModelSpec& model,
                                             const std::vector<store::TensorInfo>& tensors) {
  return collect(stage, model, tensors, [](const program::ParameterGroup& group, const GroupAddresses& at) {
    const auto mine = group.replica_index * group.shard();
    return std::vector<Slice>{{"model/", "", at.gradient_shard, mine, group.shard()}};
  });
}

}  // namespace galvatron::runtime
