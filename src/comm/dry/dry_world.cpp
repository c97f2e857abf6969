// The rehearsal's world and communicators.
#include "comm/dry/dry_world.hpp"

#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::comm {
namespace dry {
namespace {

class DryCommunicator final : public Communicator {
 public:
  DryCommunicator(Group group, Ledger& ledger) : group_(std::move(group)), ledger_(ledger) {}

  int size() const override { return group_.size(); }
  int index() const override { return group_.index; }
  const std::string& name() const override { return group_.name; }
  const std::vector<int>& members() const override { return group_.members; }

  void all_reduce(TensorView data, ReduceOp op) override {
    check_all_reduce(group_, data);
    record({CallKind::all_reduce, data.bytes(), data.dtype, op, -1});
  }
  void all_gather(TensorView in, TensorView out) override {
    check_all_gather(group_, in, out);
    record({CallKind::all_gather, out.bytes(), out.dtype, ReduceOp::sum, -1});
  }
  void reduce_scatter(TensorView in, TensorView out) override {
    check_reduce_scatter(group_, in, out);
    record({CallKind::reduce_scatter, in.bytes(), in.dtype, ReduceOp::sum, -1});
  }
  void all_to_all(TensorView in, TensorView out) override {
    check_all_to_all(group_, in, out);
    record({CallKind::all_to_all, in.bytes(), in.dtype, ReduceOp::sum, -1});
  }
  void broadcast(TensorView data, int root) override {
    check_rooted(group_, "broadcast", data, root);
    record({CallKind::broadcast, data.bytes(), data.dtype, ReduceOp::sum, root});
  }
  Pending shift(TensorView in, TensorView out) override {
    check_shift(group_, in, out);
    record({CallKind::shift, in.bytes(), in.dtype, ReduceOp::sum, -1});
    return Pending();
  }
  void exchange(std::span<const Block> sends, std::span<const Block> receives) override {
    check_exchange(group_, sends, receives);
    record({CallKind::exchange});
    for (const auto& block : sends) record_block(CallKind::block_send, block);
    for (const auto& block : receives) record_block(CallKind::block_receive, block);
    ++exchanges_;
  }
  Pending send(TensorView data, int to, int channel) override {
    check_message(group_, "send", data, to, channel);
    record({CallKind::send, data.bytes(), data.dtype, ReduceOp::sum, to, channel});
    return Pending();
  }
  Pending receive(TensorView data, int from, int channel) override {
    check_message(group_, "receive", data, from, channel);
    record({CallKind::receive, data.bytes(), data.dtype, ReduceOp::sum, from, channel});
    return Pending();
  }
  void barrier() override { record({}); }

 private:
  void record(const Call& call) { ledger_.record(group_, call); }
  /// A copy to oneself was checked already; empty blocks do not travel.
  void record_block(CallKind kind, const Block& block) {
    if (block.peer == group_.index || block.data.bytes() == 0) return;
    record({kind, block.data.bytes(), block.data.dtype, ReduceOp::sum, block.peer, exchanges_});
  }

  Group group_;
  Ledger& ledger_;
  int64_t exchanges_ = 0;  // calls so far
};

class DryWorld final : public World {
 public:
  /// With a ledger of its own.
  DryWorld(int rank, int size, int nodes) : DryWorld(rank, size, nodes, own_ledger_) {}
  DryWorld(int rank, int size, int nodes, Ledger& ledger) : rank_(rank), size_(size), ledger_(ledger) {
    GALV_ASSERT(rank >= 0 && rank < size && nodes > 0 && nodes <= size, rank, size, nodes);
    for (int n = 0; n < nodes; ++n) hosts_.push_back(core::format("node{}", n));
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int node() const override { return node_of(rank_); }
  int nodes() const override { return static_cast<int>(hosts_.size()); }
  int local_rank() const override { return rank_ - first_of(node()); }
  int local_size() const override { return first_of(node() + 1) - first_of(node()); }
  int node_of(int rank) const override {
    int node = 0;
    while (first_of(node + 1) <= rank) ++node;
    return node;
  }
  const std::string& host_of(int node) const override { return hosts_.at(static_cast<size_t>(node)); }

  std::string broadcast(std::string text, int) override { return text; }
  std::vector<std::string> all_gather(const std::string& text) override { return copies(text); }
  std::vector<double> all_gather(double value) override { return copies(value); }
  std::vector<int64_t> all_gather(int64_t value) override { return copies(value); }
  void all_reduce(std::span<double> values, ReduceOp op) override { reduce(values, op); }
  void all_reduce(std::span<int64_t> values, ReduceOp op) override { reduce(values, op); }
  void barrier() override {}

  std::unique_ptr<Communicator> make_communicator(const std::vector<int>& ranks, TrafficClass traffic,
                                                  const core::FormTable& forms) override {
    auto group = make_group(ranks, traffic, rank_, size_);
    std::vector<int> nodes;
    for (const int rank : ranks) nodes.push_back(node_of(rank));
    check_forms(group, nodes, forms);
    return std::make_unique<DryCommunicator>(std::move(group), ledger_);
  }

  std::unique_ptr<World> twin() override { return std::make_unique<DryWorld>(rank_, size_, nodes()); }

  [[noreturn]] void abort(int exit_code) override {
    throw core::Error(static_cast<core::ExitCode>(exit_code),
                      core::format("pretended rank {} aborts", rank_));
  }

 private:
  /// First rank of a node; nodes differ by one rank at most.
  int first_of(int node) const { return static_cast<int>(int64_t{size_} * node / nodes()); }

  template <class T>
  std::vector<T> copies(const T& value) const {
    return std::vector<T>(static_cast<size_t>(size_), value);
  }

  template <class T>
  void reduce(std::span<T> values, ReduceOp op) const {
    if (op == ReduceOp::sum)
      for (auto& value : values) value *= static_cast<T>(size_);
  }

  int rank_;
  int size_;
  std::vector<std::string> hosts_;
  Ledger own_ledger_;
  Ledger& ledger_;
};

}  // namespace

std::unique_ptr<World> make_world(int rank, int size, int nodes, Ledger& ledger) {
  return std::make_unique<DryWorld>(rank, size, nodes, ledger);
}

}  // namespace dry

std::unique_ptr<World> make_dry_world(int rank, int size, int nodes) {
  return std::make_unique<dry::DryWorld>(rank, size, nodes);
}

}  // namespace galvatron::comm
