// How fast one optimizer step of a deck's model is under the plan that its [plan] section states, on random
// tokens, beside the matrix products that the same kernels reach at best in the same run:
//   mpirun -n 2 --bind-to none bench_app_train_step STEPS DECK [section.key=VALUE …]
// FLOP are the model's: 6 per weight (of matrices but the embedding's) and token, and attention's products as
// far as causality leaves them; recomputation is not counted. Prints a table and ends with one JSON line.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "app/end_table.hpp"
#include "comm/guard.hpp"
#include "comm/world.hpp"
#include "core/errors.hpp"
#include "deck/deck.hpp"
#include "measure/peaks.hpp"
#include "measure/reserve.hpp"
#include "measure/statistics.hpp"
#include "plan/by_hand.hpp"
#include "runtime/loader.hpp"
#include "runtime/session.hpp"
#include "runtime/trainer.hpp"
#include "store/dataset.hpp"
#include "support/allocations.hpp"

namespace galvatron::bench {
namespace {

struct Figures {
  double step_seconds = 0;  ///< median of the slowest rank's
  double cpu_seconds = 0;   ///< of all ranks and threads, per step
  double peak_flops = 0;    ///< of all ranks together
  double flops = 0;         ///< per step
  double tokens = 0;        ///< per step
  double loss = 0;          ///< of the last step
  int64_t allocations = 0;  ///< of ours in a step, all ranks
  int64_t of_libraries = 0;
  std::vector<double> seconds;  ///< of each step
};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

/// The best product of two sizes, all ranks at once.
double gemm_peak(comm::World& world, device::Device& device, kernels::Kernels& kernels, core::DType dtype) {
  double best = 0;
  for (const int64_t size : {1024, 2048}) {
    measure::Budget budget(world, 20.0);
    measure::PeakOptions options;
    options.gemm_size = size;
    options.dtypes = {dtype};
    options.array_bytes = 1 << 20;
    cost::HardwareProfile profile;
    store::RawTable unused;
    measure::measure_peaks(world, device, kernels, options, budget, profile, unused);
    double sum = 0;
    for (const auto flops : profile.gemm_peaks.at(dtype)) sum += flops;
    best = std::max(best, sum);
  }
  return best;
}

class StepBench {
 public:
  StepBench(comm::World& world, device::Device& device, const deck::DeckValues& deck)
      : world_(world),
        device_(device),
        deck_(deck),
        model_(spec::model_from_deck(deck.model)),
        plan_(plan::plan_by_hand(plan::uniform_from_deck(deck.plan, world.size(), deck.search.batch.front()),
                                 model_)),
        kernels_(kernels::make_kernels(device, static_cast<int>(std::max<int64_t>(1, deck.run.threads)))) {}

  Figures run(int64_t steps) {
    Figures figures;
    const auto dtype = runtime::dtype_of(deck_.train);
    figures.peak_flops = gemm_peak(world_, device_, *kernels_, dtype);
    runtime::SessionOptions options;
    options.dtype = dtype;
    runtime::Session session(world_, device_, *kernels_, plan_, model_, options);
    const auto data = store::make_synthetic_dataset(1, "train_step", int64_t{1} << 30, model_.vocab);
    runtime::Loader loader(
        *data, [&](int64_t sample) { return sample * (model_.seq + 1); }, plan_, model_, world_.rank());
    step(session, loader, 0);  // buffers touched, primitives made
    const auto before = session.times();
    const double cpu_before = cpu_seconds();
    for (int64_t i = 1; i <= steps; ++i) {
      const auto done = step(session, loader, i);
      figures.seconds.push_back(done.seconds);
      figures.loss = done.loss;
    }
    figures.cpu_seconds = (cpu_seconds() - cpu_before) / static_cast<double>(steps);
    print_sections(before, session.times(), steps);
    testing::start_counting();
    step(session, loader, steps + 1);
    const auto counted = testing::stop_counting();
    figures.allocations = counted.ours;
    figures.of_libraries = counted.others;
    figures.peak_flops = std::max(figures.peak_flops, gemm_peak(world_, device_, *kernels_, dtype));
    return reduced(figures);
  }

 private:
  runtime::StepResult step(runtime::Session& session, runtime::Loader& loader, int64_t i) {
    loader.seek(i * plan_.batch);
    return session.step(loader, deck_.train, i);
  }

  Figures reduced(Figures figures) {
    world_.all_reduce(std::span(figures.seconds), core::ReduceOp::max);
    double sums[] = {figures.cpu_seconds, static_cast<double>(figures.allocations),
                     static_cast<double>(figures.of_libraries)};
    world_.all_reduce(std::span<double>(sums), core::ReduceOp::sum);
    figures.cpu_seconds = sums[0];
    figures.allocations = static_cast<int64_t>(sums[1]);
    figures.of_libraries = static_cast<int64_t>(sums[2]);
    figures.step_seconds = measure::median_of(figures.seconds);
    figures.flops = app::model_flops_per_step(model_, plan_.batch);
    figures.tokens = static_cast<double>(plan_.batch * model_.seq);
    return figures;
  }

  /// Mean seconds of a step, rank 0.
  void print_sections(const runtime::SectionTimes& before, const runtime::SectionTimes& after,
                      int64_t steps) {
    if (world_.rank() != 0) return;
    for (size_t i = 0; i < runtime::section_count; ++i) {
      const auto section = static_cast<runtime::Section>(i);
      const auto seconds = (after.of(section) - before.of(section)) / static_cast<double>(steps);
      if (seconds > 0)
        std::printf("  %-16s %9.4f s\n", std::string(runtime::name_of(section)).c_str(), seconds);
    }
  }

  comm::World& world_;
  device::Device& device_;
  const deck::DeckValues& deck_;
  spec::ModelSpec model_;
  plan::Plan plan_;
  std::unique_ptr<kernels::Kernels> kernels_;
};

void print(const Figures& f, const comm::World& world, const deck::DeckValues& deck, int64_t peak_bytes) {
  const double rate = f.flops / f.step_seconds;
  std::printf(
      "%.1f tokens/s, %.1f GFLOP/s, %.1f %% of the gemm peak of %.1f GFLOP/s; allocations in a step: %lld "
      "ours, %lld by libraries\n",
      f.tokens / f.step_seconds, rate / 1e9, 100 * rate / f.peak_flops, f.peak_flops / 1e9,
      static_cast<long long>(f.allocations), static_cast<long long>(f.of_libraries));
  std::printf(
      "{\"ranks\": %d, \"threads\": %lld, \"seq\": %lld, \"precision\": \"%s\", \"step_s\": %.6g, \"cpu_s\": "
      "%.6g, \"tokens_per_s\": %.6g, \"flops\": %.6g, \"peak_flops\": %.6g, \"gemm_ratio\": %.4g, "
      "\"allocations\": %lld, \"peak_bytes\": %lld, \"loss\": %.6f}\n",
      world.size(), static_cast<long long>(deck.run.threads), static_cast<long long>(deck.model.seq),
      deck.train.precision.c_str(), f.step_seconds, f.cpu_seconds, f.tokens / f.step_seconds, rate,
      f.peak_flops, rate / f.peak_flops, static_cast<long long>(f.allocations),
      static_cast<long long>(peak_bytes), f.loss);
}

int run(int argc, char** argv) {
  const auto device = device::make_device(device::DeviceKind::cpu);
  const auto world = comm::make_mpi_world(*device);
  try {
    if (argc < 3) throw core::UserError("usage: bench_app_train_step STEPS DECK [section.key=VALUE …]");
    std::ifstream file(argv[2], std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const auto deck = deck::parse_deck(bytes, argv[2], {argv + 3, argv + argc});
    const auto figures = StepBench(*world, *device, deck).run(std::max(1, std::atoi(argv[1])));
    int64_t peak = measure::peak_resident_bytes();
    world->all_reduce(std::span(&peak, 1), core::ReduceOp::sum);
    if (world->rank() == 0) print(figures, *world, deck, peak);
    return 0;
  } catch (const core::Error& error) {
    if (world->rank() == 0) std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace galvatron::bench

int main(int argc, char** argv) {
  const galvatron::comm::Guard guard;
  return galvatron::bench::run(argc, argv);
}
