// Choosing a communicator for each group by where its members are.
#include "comm/device_world.hpp"

#include <algorithm>
#include <utility>

#include "comm/local_communicator.hpp"
#include "comm/staged/layered_communicator.hpp"
#include "comm/staged/routed_communicator.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::comm {
namespace {

class DeviceWorld final : public World {
 public:
  DeviceWorld(std::unique_ptr<World> host, device::Device& device, std::unique_ptr<DirectTransport> direct,
              Reach reach)
      : host_(std::move(host)), device_(device), direct_(std::move(direct)), reach_(reach) {}

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  int node() const override { return host_->node(); }
  int nodes() const override { return host_->nodes(); }
  int local_rank() const override { return host_->local_rank(); }
  int local_size() const override { return host_->local_size(); }
  int node_of(int rank) const override { return host_->node_of(rank); }
  const std::string& host_of(int node) const override { return host_->host_of(node); }

  std::string broadcast(std::string text, int root) override {
    return host_->broadcast(std::move(text), root);
  }
  std::vector<std::string> all_gather(const std::string& text) override { return host_->all_gather(text); }
  std::vector<double> all_gather(double value) override { return host_->all_gather(value); }
  std::vector<int64_t> all_gather(int64_t value) override { return host_->all_gather(value); }
  void all_reduce(std::span<double> values, ReduceOp op) override { host_->all_reduce(values, op); }
  void all_reduce(std::span<int64_t> values, ReduceOp op) override { host_->all_reduce(values, op); }
  void barrier() override { host_->barrier(); }

  std::unique_ptr<Communicator> make_communicator(const std::vector<int>& ranks, TrafficClass traffic,
                                                  const core::FormTable& forms) override;
  /// The control plane is the host's.
  std::unique_ptr<World> twin() override { return host_->twin(); }
  [[noreturn]] void abort(int exit_code) override {
    if (direct_) direct_->abort();
    host_->abort(exit_code);
  }

 private:
  std::unique_ptr<Communicator> routed(const Group& group, std::unique_ptr<Communicator> staged);
  std::unique_ptr<Communicator> by_levels(Group group, const Levels& levels,
                                          std::unique_ptr<StagedCommunicator> staged,
                                          const core::FormTable& forms);

  std::unique_ptr<World> host_;
  device::Device& device_;
  std::unique_ptr<DirectTransport> direct_;
  Reach reach_;
};

std::unique_ptr<Communicator> DeviceWorld::make_communicator(const std::vector<int>& ranks,
                                                             TrafficClass traffic,
                                                             const core::FormTable& forms) {
  auto group = make_group(ranks, traffic, rank(), size());
  if (group.size() == 1) return make_local_communicator(std::move(group), &device_);
  const bool one_node =
      std::all_of(ranks.begin(), ranks.end(), [&](int other) { return node_of(other) == node(); });
  if (direct_ && one_node)
    return direct_->make(std::move(group), host_->make_communicator(ranks, traffic, {}));
  std::vector<int> nodes;
  for (const int other : ranks) nodes.push_back(node_of(other));
  const auto levels = direct_ ? levels_of(nodes, group.index) : std::nullopt;
  auto host = host_->make_communicator(ranks, traffic, levels ? core::FormTable{} : forms);
  auto staged = std::make_unique<StagedCommunicator>(std::move(host), device_, reach_);
  if (direct_ && traffic == TrafficClass::pipeline) return routed(group, std::move(staged));
  if (!levels) return staged;
  return by_levels(std::move(group), *levels, std::move(staged), forms);
}

std::unique_ptr<Communicator> DeviceWorld::routed(const Group& group, std::unique_ptr<Communicator> staged) {
  std::vector<int> near, near_index;
  for (const int member : group.members) {
    const bool here = node_of(member) == node();
    near_index.push_back(here ? static_cast<int>(near.size()) : -1);
    if (here) near.push_back(member);
  }
  if (near.size() < 2) return staged;
  auto direct = direct_->make(make_group(near, group.traffic, rank(), size()),
                              host_->make_communicator(near, group.traffic, {}));
  return std::make_unique<RoutedCommunicator>(std::move(direct), std::move(near_index), std::move(staged));
}

std::unique_ptr<Communicator> DeviceWorld::by_levels(Group group, const Levels& levels,
                                                     std::unique_ptr<StagedCommunicator> staged,
                                                     const core::FormTable& forms) {
  std::vector<int> inside, across;
  for (int i = 0; i < levels.lanes; ++i)
    inside.push_back(group.members[static_cast<size_t>(levels.node * levels.lanes + i)]);
  for (int i = 0; i < levels.nodes; ++i)
    across.push_back(group.members[static_cast<size_t>(i * levels.lanes + levels.lane)]);
  const auto traffic = group.traffic;
  auto direct = direct_->make(make_group(inside, traffic, rank(), size()),
                              host_->make_communicator(inside, traffic, {}));
  auto lane = host_->make_communicator(across, traffic, {});
  return std::make_unique<LayeredCommunicator>(std::move(group), levels, std::move(direct), std::move(lane),
                                               std::move(staged), forms, device_);
}

}  // namespace

std::string shared_device(World& world, const std::string& identity) {
  const auto all = world.all_gather(identity);
  for (int second = 0; second < world.size(); ++second) {
    for (int first = 0; first < second; ++first) {
      const auto& mine = all[static_cast<size_t>(first)];
      if (mine.empty() || mine != all[static_cast<size_t>(second)]) continue;
      if (world.node_of(first) != world.node_of(second)) continue;  // addresses are a node's own
      return core::format("ranks {} and {} on {} use the same device {}", first, second,
                          world.host_of(world.node_of(second)), mine);
    }
  }
  return {};
}

std::unique_ptr<World> make_device_world(std::unique_ptr<World> host, device::Device& device,
                                         std::unique_ptr<DirectTransport> direct, SharedDevices shared,
                                         Reach reach) {
  if (direct) {
    const auto text = shared_device(*host, device.identity());
    if (!text.empty() && shared == SharedDevices::refused)
      throw core::UserError(core::ExitCode::environment,
                            text + "; start as many ranks on a node as it has devices");
    if (!text.empty()) direct.reset();
  }
  return std::make_unique<DeviceWorld>(std::move(host), device, std::move(direct), reach);
}

}  // namespace galvatron::comm
