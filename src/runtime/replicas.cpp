// Each rank sends a hash per buffer; rank 0 compares those of the same stretch of the same tensor.

#include "runtime/replicas.hpp"

#include <cstring>
#include <map>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "program/pieces.hpp"
#include "runtime/snapshot.hpp"
#include "store/sealed_file.hpp"

namespace galvatron::runtime {
namespace {

/// A buffer of a group, named by the first tensor in it.
struct Copy {
  int64_t tensor = 0;   ///< number in tensors_of()
  int64_t working = 0;  ///< 1: the 16-bit weights beside a master
  int64_t offset = 0;   ///< of its first element in that tensor
  uint64_t hash = 0;
};

/// What a group holds whole on this rank.
struct Held {
  const char* prefix;
  const char* suffix;
  const std::byte* data;
  core::DType dtype;
  int64_t working;
};

std::vector<Held> held_of(const program::ParameterGroup& group, const GroupAddresses& at) {
  std::vector<Held> held;
  if (group.zero < 3) held.push_back({"model/", "", at.weights, group.dtype, group.has_master() ? 1 : 0});
  if (group.zero >= 1) return held;
  if (group.has_master()) held.push_back({"model/", "", at.master, group.accumulator(), 0});
  held.push_back({"optimizer/", "/exp_avg", at.exp_avg, group.accumulator(), 0});
  held.push_back({"optimizer/", "/exp_avg_sq", at.exp_avg_sq, group.accumulator(), 0});
  return held;
}

class Copies {
 public:
  Copies(Session& session, const std::vector<store::TensorInfo>& tensors) : session_(session) {
    for (size_t i = 0; i < tensors.size(); ++i) numbers_[tensors[i].name] = static_cast<int64_t>(i);
  }

  void add(const std::string& layer, const program::ParameterGroup& group, const GroupAddresses& at) {
    const auto first = program::runs_of(group, 0, group.elements).front();
    const auto& parameter = group.parameters[static_cast<size_t>(first.parameter)];
    const auto name = program::tensor_name(parameter, layer);
    for (const auto& held : held_of(group, at)) {
      if (held.data == nullptr) continue;  // SGD without momentum has no moments
      const auto found = numbers_.find(held.prefix + name + held.suffix);
      GALV_ASSERT(found != numbers_.end(), name);
      const auto size = group.elements * core::size_of(held.dtype);
      const auto hash = store::hash_of(session_.window().look(held.data, size));
      copies_.push_back({found->second, held.working, first.global, hash});
      bytes_ += size;
    }
  }

  /// For World::all_gather.
  std::string packed() const {
    std::string text(copies_.size() * sizeof(Copy), '\0');
    if (!copies_.empty()) std::memcpy(text.data(), copies_.data(), text.size());
    return text;
  }
  int64_t bytes() const { return bytes_; }

 private:
  Session& session_;
  std::map<std::string, int64_t> numbers_;
  std::vector<Copy> copies_;
  int64_t bytes_ = 0;
};

std::vector<Copy> unpacked(const std::string& text) {
  std::vector<Copy> copies(text.size() / sizeof(Copy));
  if (!copies.empty()) std::memcpy(copies.data(), text.data(), text.size());
  return copies;
}

/// What differs, for people; empty when nothing does.
std::string difference(const comm::World& world, const std::vector<store::TensorInfo>& tensors,
                       const std::vector<std::string>& ranks) {
  struct First {
    uint64_t hash;
    int rank;
  };
  std::map<std::tuple<int64_t, int64_t, int64_t>, First> seen;
  std::string text;
  int64_t more = -1;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank)
    for (const auto& copy : unpacked(ranks[static_cast<size_t>(rank)])) {
      const auto [it, fresh] =
          seen.try_emplace({copy.tensor, copy.working, copy.offset}, First{copy.hash, rank});
      if (fresh || it->second.hash == copy.hash) continue;
      ++more;
      if (!text.empty()) continue;
      text = core::format(
          "rank {} ({}) and rank {} ({}) hold different bits of {}{}, whose copies are equal by construction",
          it->second.rank, world.host_of(world.node_of(it->second.rank)), rank,
          world.host_of(world.node_of(rank)), tensors[static_cast<size_t>(copy.tensor)].name,
          copy.working == 1 ? " (working weights)" : "");
    }
  if (text.empty()) return text;
  if (more > 0) text += core::format("; {} more copies differ", more);
  return text +
         "; the run ends and nothing is saved. Memory, a core or a network card may be faulty: run again "
         "from the last "
         "checkpoint, without these hosts if it comes back";
}

}  // namespace

int64_t check_replicas(Session& session) {
  auto& stage = session.stage();
  const auto tensors = tensors_of(session.model(), core::DType::f32);
  Copies copies(session, tensors);
  for (size_t i = 0; i < stage.layers(); ++i) {
    const auto layer = stage.program().layers[i].layer;
    if (layer == plan::FlowItem::transition) continue;
    const auto& at = stage.state_of(i);
    for (size_t g = 0; g < at.groups.size(); ++g) {
      const auto& group = at.program->groups[g];
      if (group.stored_here() && group.replicas > 1)
        copies.add(session.model().names[static_cast<size_t>(layer)], group, at.groups[g]);
    }
  }
  auto& world = session.world();
  const auto all = world.all_gather(copies.packed());
  world.agree("", [&] {
    if (world.rank() != 0) return;
    const auto text = difference(world, tensors, all);
    if (!text.empty()) throw core::UserError(core::ExitCode::numerical, text);
  });
  return copies.bytes();
}

}  // namespace galvatron::runtime
