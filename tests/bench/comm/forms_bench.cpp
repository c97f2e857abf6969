// How much shared memory gains over messages, per collective and size:
//   mpirun -n 2 bench_comm_forms [repetitions]
// The two forms alternate, so that noise meets both; a line gives the medians and their ratio.
#include <cstdio>
#include <cstdlib>

#include "bench/comm/support.hpp"
#include "comm/guard.hpp"
#include "comm/mpi/mpi_world.hpp"

namespace galvatron::comm {
namespace {

using bench::view;
using core::CollectiveKind;
using core::Form;

constexpr CollectiveKind kinds[] = {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                    CollectiveKind::reduce_scatter, CollectiveKind::all_to_all};

void call(Communicator& group, CollectiveKind kind, std::vector<float>& in, std::vector<float>& out) {
  const auto part = static_cast<int64_t>(in.size()) / group.size();
  const auto part_of = [&](std::vector<float>& data) {
    return device::vector(data.data(), core::DType::f32, part);
  };
  if (kind == CollectiveKind::all_reduce) group.all_reduce(view(in), ReduceOp::sum);
  if (kind == CollectiveKind::all_gather) group.all_gather(part_of(in), view(out));
  if (kind == CollectiveKind::reduce_scatter) group.reduce_scatter(view(in), part_of(out));
  if (kind == CollectiveKind::all_to_all) group.all_to_all(view(in), view(out));
}

void run(int repetitions) {
  const auto world = mpi::make_world();
  core::FormTable table;
  for (const auto kind : kinds) table.rows.push_back({kind, 0, Form::shared});
  const auto direct = world->make_communicator(bench::everybody(*world), TrafficClass::layer);
  const auto shared = world->make_communicator(bench::everybody(*world), TrafficClass::layer, table);
  for (const auto kind : kinds) {
    for (const int64_t kib : {4, 64, 1024, 16384}) {
      const auto elements = kib * 256 / world->size() * world->size();
      std::vector<float> in(static_cast<size_t>(elements)), out(in.size());
      std::vector<double> seconds[2];
      for (int i = -2; i < repetitions; ++i) {
        for (const int form : {0, 1}) {
          const double s = bench::timed(*world, [&] { call(form == 0 ? *direct : *shared, kind, in, out); });
          if (i >= 0) seconds[form].push_back(s);
        }
      }
      const double a = bench::median(seconds[0]), b = bench::median(seconds[1]);
      if (world->rank() == 0)
        std::printf("%-15s %2d ranks %6lld KiB  direct %10.1f us  shared %10.1f us  direct / shared %5.2f\n",
                    std::string(core::name_of(kind)).c_str(), world->size(), static_cast<long long>(kib),
                    a * 1e6, b * 1e6, a / b);
    }
  }
}

}  // namespace
}  // namespace galvatron::comm

int main(int argc, char** argv) {
  const galvatron::comm::Guard guard;
  galvatron::comm::run(argc > 1 ? std::atoi(argv[1]) : 31);
}
