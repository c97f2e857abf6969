// Who is where, and the control plane. The launcher's order of ranks does not matter: nodes are found by
// asking which ranks share memory, and ranks are renumbered by (node, rank on the node).
#include "comm/mpi/mpi_world.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <thread>
#include <utility>

#include "comm/group.hpp"
#include "comm/local_communicator.hpp"
#include "comm/mpi/check.hpp"
#include "comm/mpi/comm_handle.hpp"
#include "comm/mpi/formed_communicator.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/reduction.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::comm::mpi {
namespace {

/// How long a patient world sleeps between two looks.
constexpr std::chrono::microseconds shortest_nap(100), longest_nap(2000);

int rank_of(MPI_Comm comm) {
  int rank = 0;
  GALV_MPI(MPI_Comm_rank(comm, &rank));
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  GALV_MPI(MPI_Comm_size(comm, &size));
  return size;
}

/// The least launcher rank of this rank's node names the node.
int node_leader(int launcher_rank, const PretendedNode& pretended_node) {
  MPI_Comm shared = MPI_COMM_NULL;
  if (pretended_node) {
    GALV_MPI(MPI_Comm_split(MPI_COMM_WORLD, pretended_node(launcher_rank), launcher_rank, &shared));
  } else {
    GALV_MPI(
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, launcher_rank, MPI_INFO_NULL, &shared));
  }
  const CommHandle handle(shared, "galvatron node");
  int leader = launcher_rank;
  GALV_MPI(MPI_Bcast(&leader, 1, MPI_INT, 0, shared));
  return leader;
}

class MpiWorld final : public World {
 public:
  explicit MpiWorld(const PretendedNode& pretended_node);
  /// The twin of another.
  MpiWorld(const MpiWorld& other, CommHandle comm)
      : comm_(std::move(comm)),
        patient_(true),
        rank_(other.rank_),
        size_(other.size_),
        local_rank_(other.local_rank_),
        local_size_(other.local_size_),
        node_of_(other.node_of_),
        hosts_(other.hosts_) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int node() const override { return node_of(rank_); }
  int nodes() const override { return static_cast<int>(hosts_.size()); }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }
  int node_of(int rank) const override { return node_of_.at(static_cast<size_t>(rank)); }
  const std::string& host_of(int node) const override { return hosts_.at(static_cast<size_t>(node)); }

  std::string broadcast(std::string text, int root) override;
  std::vector<std::string> all_gather(const std::string& text) override;
  std::vector<double> all_gather(double value) override;
  std::vector<int64_t> all_gather(int64_t value) override;
  void all_reduce(std::span<double> values, ReduceOp op) override;
  void all_reduce(std::span<int64_t> values, ReduceOp op) override;
  void barrier() override {
    meet();
    GALV_MPI(MPI_Barrier(comm_.get()));
  }

  std::unique_ptr<Communicator> make_communicator(const std::vector<int>& ranks, TrafficClass traffic,
                                                  const core::FormTable& forms) override;
  std::unique_ptr<World> twin() override;
  [[noreturn]] void abort(int exit_code) override;

 private:
  void meet() const;

  CommHandle comm_;
  bool patient_ = false;  ///< a twin: waits asleep
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  int local_size_ = 1;
  std::vector<int> node_of_;
  std::vector<std::string> hosts_;
  std::vector<double> gathered_;  // kept, so that a training step's sums ask for no memory
  std::vector<const std::byte*> contributions_;
};

MpiWorld::MpiWorld(const PretendedNode& pretended_node) {
  GALV_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const int launcher_rank = rank_of(MPI_COMM_WORLD);
  MPI_Comm sorted = MPI_COMM_NULL;
  // Keys may repeat: ranks of one node keep the launcher's order among themselves.
  const int leader = node_leader(launcher_rank, pretended_node);
  GALV_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, leader, &sorted));
  comm_ = CommHandle(sorted, "galvatron world");
  rank_ = rank_of(sorted);
  size_ = size_of(sorted);

  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  GALV_MPI(MPI_Get_processor_name(name, &length));
  const auto names = all_gather(std::string(name, static_cast<size_t>(length)));
  const auto leaders = all_gather(static_cast<int64_t>(leader));
  for (size_t r = 0; r < leaders.size(); ++r) {
    if (r == 0 || leaders[r] != leaders[r - 1]) hosts_.push_back(names[r]);
    node_of_.push_back(nodes() - 1);
  }
  local_size_ = static_cast<int>(std::count(node_of_.begin(), node_of_.end(), node()));
  local_rank_ = static_cast<int>(std::count(node_of_.begin(), node_of_.begin() + rank_, node()));
}

/// A patient world's calls begin with waiting until everybody is there; they are short then.
void MpiWorld::meet() const {
  if (!patient_) return;
  MPI_Request request = MPI_REQUEST_NULL;
  GALV_MPI(MPI_Ibarrier(comm_.get(), &request));
  for (auto nap = shortest_nap;; nap = std::min(2 * nap, longest_nap)) {
    int done = 0;
    GALV_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done != 0) return;
    std::this_thread::sleep_for(nap);
  }
}

std::string MpiWorld::broadcast(std::string text, int root) {
  meet();
  auto length = static_cast<int64_t>(text.size());
  GALV_MPI(MPI_Bcast(&length, 1, MPI_INT64_T, root, comm_.get()));
  text.resize(static_cast<size_t>(length));
  for (int64_t begin = 0; begin < length; begin += largest_message) {
    const auto count = static_cast<int>(std::min(largest_message, length - begin));
    GALV_MPI(MPI_Bcast(text.data() + begin, count, MPI_CHAR, root, comm_.get()));
  }
  return text;
}

std::vector<std::string> MpiWorld::all_gather(const std::string& text) {
  const auto lengths = all_gather(static_cast<int64_t>(text.size()));
  std::vector<int> counts;
  std::vector<int> offsets;
  int64_t total = 0;
  for (const auto length : lengths) {
    counts.push_back(static_cast<int>(length));
    offsets.push_back(static_cast<int>(total));
    total += length;
    if (total > std::numeric_limits<int>::max())
      throw core::InternalError("the control plane cannot gather texts of more than 2 GiB in all");
  }
  std::string all(static_cast<size_t>(total), '\0');
  GALV_MPI(MPI_Allgatherv(text.data(), static_cast<int>(text.size()), MPI_CHAR, all.data(), counts.data(),
                          offsets.data(), MPI_CHAR, comm_.get()));
  std::vector<std::string> texts;
  for (size_t r = 0; r < counts.size(); ++r)
    texts.push_back(all.substr(static_cast<size_t>(offsets[r]), static_cast<size_t>(counts[r])));
  return texts;
}

std::vector<double> MpiWorld::all_gather(double value) {
  meet();
  std::vector<double> values(static_cast<size_t>(size_of(comm_.get())));
  GALV_MPI(MPI_Allgather(&value, 1, MPI_DOUBLE, values.data(), 1, MPI_DOUBLE, comm_.get()));
  return values;
}

std::vector<int64_t> MpiWorld::all_gather(int64_t value) {
  meet();
  std::vector<int64_t> values(static_cast<size_t>(size_of(comm_.get())));
  GALV_MPI(MPI_Allgather(&value, 1, MPI_INT64_T, values.data(), 1, MPI_INT64_T, comm_.get()));
  return values;
}

// In rank order, so that every rank and every run has the same bits.
void MpiWorld::all_reduce(std::span<double> values, ReduceOp op) {
  meet();
  const auto count = static_cast<int>(values.size());
  gathered_.resize(values.size() * static_cast<size_t>(size_));
  GALV_MPI(MPI_Allgather(values.data(), count, MPI_DOUBLE, gathered_.data(), count, MPI_DOUBLE, comm_.get()));
  contributions_.clear();
  for (int r = 0; r < size_; ++r)
    contributions_.push_back(
        reinterpret_cast<const std::byte*>(gathered_.data() + static_cast<size_t>(r) * values.size()));
  reduce_in_order(contributions_, reinterpret_cast<std::byte*>(values.data()), count, core::DType::f64, op);
}

void MpiWorld::all_reduce(std::span<int64_t> values, ReduceOp op) {
  meet();
  GALV_MPI(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT64_T,
                         op == ReduceOp::sum ? MPI_SUM : MPI_MAX, comm_.get()));
}

// Only members meet here: disjoint groups need not wait for each other.
std::unique_ptr<Communicator> MpiWorld::make_communicator(const std::vector<int>& ranks, TrafficClass traffic,
                                                          const core::FormTable& forms) {
  auto group = make_group(ranks, traffic, rank_, size_);
  if (group.size() == 1) return make_local_communicator(std::move(group));
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group chosen = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  GALV_MPI(MPI_Comm_group(comm_.get(), &all));
  GALV_MPI(MPI_Group_incl(all, group.size(), ranks.data(), &chosen));
  GALV_MPI(MPI_Comm_create_group(comm_.get(), chosen, static_cast<int>(traffic), &comm));
  GALV_MPI(MPI_Group_free(&chosen));
  GALV_MPI(MPI_Group_free(&all));
  CommHandle handle(comm, group.name);
  std::vector<int> nodes;
  for (const int rank : ranks) nodes.push_back(node_of(rank));
  return with_forms(std::make_unique<MpiCommunicator>(group, std::move(handle)), group, nodes, forms);
}

std::unique_ptr<World> MpiWorld::twin() {
  MPI_Comm copy = MPI_COMM_NULL;
  GALV_MPI(MPI_Comm_dup(comm_.get(), &copy));
  return std::make_unique<MpiWorld>(*this, CommHandle(copy, "galvatron world of another thread"));
}

void MpiWorld::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

}  // namespace

std::unique_ptr<World> make_world(const PretendedNode& pretended_node) {
  return std::make_unique<MpiWorld>(pretended_node);
}

}  // namespace galvatron::comm::mpi
