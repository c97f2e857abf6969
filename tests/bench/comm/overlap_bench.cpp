// What it costs to reduce 16 MiB while computing, and which way of making progress hides most of it:
//   mpirun -n 2 bench_comm_overlap [repetitions] [slices of the computation]
// after: the reduction follows the computation. thread: a background thread reduces meanwhile. testing: the
// computing thread looks at the messages of the reduction between slices of its work.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "bench/comm/support.hpp"
#include "comm/background.hpp"
#include "comm/guard.hpp"
#include "comm/mpi/mpi_world.hpp"
#include "comm/reduction.hpp"

namespace galvatron::comm {
namespace {

using bench::view;

constexpr int64_t elements = 4 << 20;
constexpr int passes = 24000;

/// A slice of arithmetic that stays in the first-level cache, as a gemm's does.
float compute(std::vector<float>& data, int slices) {
  for (int pass = 0; pass < passes / slices; ++pass)
    for (auto& x : data) x = x * 0.999f + 0.001f;
  return data[0];
}

/// The reduction as messages that somebody must look at: everybody's slice to its owner, the sum, and back.
class TestedReduction {
 public:
  explicit TestedReduction(Communicator& group)
      : group_(group), parts_(static_cast<size_t>(group.size()), std::vector<float>(part(group))) {}

  void start(std::vector<float>& data) {
    data_ = data.data();
    summed_ = false;
    for (int peer = 0; peer < group_.size(); ++peer) {
      if (peer == group_.index()) continue;
      pending_.push_back(group_.receive(view(parts_[static_cast<size_t>(peer)]), peer));
      pending_.push_back(group_.send(slice(peer), peer));
    }
  }
  /// True when all is done.
  bool test() {
    for (auto& one : pending_)
      if (!one.test()) return false;
    pending_.clear();
    if (summed_) return true;
    summed_ = true;
    std::vector<const std::byte*> contributions;
    for (int peer = 0; peer < group_.size(); ++peer)
      contributions.push_back(peer == group_.index() ? slice(peer).data
                                                     : view(parts_[static_cast<size_t>(peer)]).data);
    reduce_in_order(contributions, slice(group_.index()).data, slice(0).elements(), core::DType::f32,
                    ReduceOp::sum);
    for (int peer = 0; peer < group_.size(); ++peer) {
      if (peer == group_.index()) continue;
      pending_.push_back(group_.receive(slice(peer), peer));
      pending_.push_back(group_.send(slice(group_.index()), peer));
    }
    return false;
  }

 private:
  static size_t part(const Communicator& group) { return static_cast<size_t>(elements / group.size()); }
  device::TensorView slice(int peer) const {
    const auto count = static_cast<int64_t>(part(group_));
    return device::vector(data_ + peer * count, core::DType::f32, count);
  }

  Communicator& group_;
  std::vector<std::vector<float>> parts_;
  std::vector<Pending> pending_;
  float* data_ = nullptr;
  bool summed_ = false;
};

void run(int repetitions, int slices) {
  const auto world = mpi::make_world();
  core::FormTable table;
  table.rows.push_back({core::CollectiveKind::all_reduce, 0, core::Form::shared});
  const auto direct = world->make_communicator(bench::everybody(*world), TrafficClass::gradient);
  const auto shared = world->make_communicator(bench::everybody(*world), TrafficClass::gradient, table);
  std::vector<float> work(4096, 1.0f), data(static_cast<size_t>(elements));
  TestedReduction tested(*direct);
  Background background;
  float sink = 0;
  const auto computation = [&] {
    for (int i = 0; i < slices; ++i) sink += compute(work, slices);
  };
  const auto on_thread = [&](Communicator& group) {
    background.submit([&] { group.all_reduce(view(data), ReduceOp::sum); });
    computation();
    background.drain();
  };
  constexpr const char* names[] = {
      "computation alone", "reduction alone", "reduction alone, shared", "after",
      "after, shared",     "thread",          "thread, shared",          "testing between slices"};
  std::vector<double> seconds[8];
  for (int i = -1; i < repetitions; ++i) {
    for (int way = 0; way < 8; ++way) {
      const double s = bench::timed(*world, [&] {
        if (way == 0 || way == 3 || way == 4) computation();
        if (way == 1 || way == 3) direct->all_reduce(view(data), ReduceOp::sum);
        if (way == 2 || way == 4) shared->all_reduce(view(data), ReduceOp::sum);
        if (way == 5) on_thread(*direct);
        if (way == 6) on_thread(*shared);
        if (way != 7) return;
        tested.start(data);
        bool done = false;
        for (int k = 0; k < slices; ++k) {
          sink += compute(work, slices);
          if (!done) done = tested.test();
        }
        while (!done) done = tested.test();
      });
      if (i >= 0) seconds[way].push_back(s);
    }
  }
  if (world->rank() != 0) return;
  const auto least = [&](int way) { return *std::min_element(seconds[way].begin(), seconds[way].end()); };
  for (int way = 0; way < 8; ++way) {
    const double middle = bench::median(seconds[way]), over = least(way) - least(0);
    std::printf("%-24s median %8.2f ms   least %8.2f ms   least over the computation's %8.2f ms\n",
                names[way], middle * 1e3, least(way) * 1e3, over * 1e3);
  }
  if (std::isnan(sink)) std::printf("the computation failed\n");
}

}  // namespace
}  // namespace galvatron::comm

int main(int argc, char** argv) {
  const galvatron::comm::Guard guard;
  galvatron::comm::run(argc > 1 ? std::atoi(argv[1]) : 21, argc > 2 ? std::atoi(argv[2]) : 200);
}
