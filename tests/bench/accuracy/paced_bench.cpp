// Predicted against measured step times of many ranks on few cores: every kernel sleeps its set time,
// messages are real (mpirun -n 4 --bind-to none bench_measure_accuracy_paced [ROUNDS]). Tests schedules,
// overlap and transfers. Plans take turns, so that all meet the same neighbours; the medians over the rounds
// are compared. Planned bytes are those of the price, of the rehearsal and of the arena, exactly. Ends with a
// RESULT line.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "bench/accuracy/paced_kernels.hpp"
#include "comm/guard.hpp"
#include "comm/world.hpp"
#include "core/errors.hpp"
#include "cost/plan_price.hpp"
#include "cost/signature.hpp"
#include "measure/collectives.hpp"
#include "measure/layers.hpp"
#include "measure/links.hpp"
#include "measure/sampler.hpp"
#include "measure/statistics.hpp"
#include "plan/by_hand.hpp"
#include "runtime/kernel_args.hpp"
#include "runtime/loader.hpp"
#include "runtime/rehearse.hpp"
#include "runtime/session.hpp"
#include "store/dataset.hpp"
#include "support/plan_runs.hpp"

namespace galvatron::bench {
namespace {

/// By nearest rank.
double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto place = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<size_t>(place, 1) - 1];
}

struct Subject {
  std::string name;
  plan::Plan plan;
  double predicted = 0;
  int64_t priced_bytes = 0;  ///< of the fullest arena
  std::vector<double> seconds;
  double measured() const { return measure::median_of(seconds); }
  /// Half the distance between the quartiles, relative: what a repetition differs by.
  double noise() const { return (quantile(seconds, 0.75) - quantile(seconds, 0.25)) / 2 / measured(); }
  double error() const { return std::abs(predicted / measured() - 1); }
};

/// What people try: each axis alone and mixtures, as far as they are legal.
std::vector<Subject> subjects_of(const spec::ModelSpec& model, int64_t world) {
  std::vector<Subject> subjects;
  const auto offer = [&](const std::string& name, plan::UniformPlan wish) {
    wish.world = world;
    wish.batch = 2 * world;
    try {
      auto plan = plan::plan_by_hand(wish, model);
      if (plan::faults_of(plan, model, world).empty()) subjects.push_back({name, std::move(plan), 0, 0, {}});
    } catch (const core::UserError&) {  // not for so many ranks
    }
  };
  for (const int32_t zero : {0, 1, 2, 3}) {
    plan::UniformPlan wish;
    wish.zero = zero;
    wish.microbatches = 2;
    offer("dp zero" + std::to_string(zero), wish);
  }
  const auto half = world / 2;
  offer("tp2", {.tp = 2, .microbatches = 2});
  offer("tp2 zero3", {.tp = 2, .zero = 3, .microbatches = 2});
  offer("sp2", {.sp = 2, .microbatches = 2});
  offer("cp2", {.cp = 2, .microbatches = 2});
  offer("pp2 m2", {.pp = 2, .microbatches = 2});
  offer("pp2 m4", {.pp = 2, .microbatches = 4});
  offer("pp2 gpipe", {.pp = 2, .microbatches = 4, .schedule = plan::ScheduleKind::gpipe});
  offer("pp2 interleaved",
        {.pp = 2, .microbatches = 4, .schedule = plan::ScheduleKind::interleaved, .virtual_stages = 2});
  offer("pp4 m8", {.pp = 4, .microbatches = 8});
  offer("pp4 zero1", {.pp = 4, .zero = 1, .microbatches = 8});
  offer("pp2 recompute", {.pp = 2, .recompute = spec::Recompute::full, .microbatches = 4});
  if (half > 2) offer("3-D", {.pp = 2, .tp = 2, .zero = 1, .microbatches = 4});
  return subjects;
}

class PacedBench {
 public:
  PacedBench(comm::World& world, device::Device& device)
      : world_(world),
        device_(device),
        model_(testing::small_model(4, 64, 4, 64, 32)),
        kernels_(make_paced_kernels(pace)),
        subjects_(subjects_of(model_, world.size())) {}

  int run(int64_t rounds) {
    const auto profile = measure();
    predict(profile);
    for (int64_t round = 0; round < rounds; ++round)
      for (auto& subject : subjects_) play(subject);
    return report();
  }

 private:
  bool prints() const { return world_.rank() == 0; }

  cost::Profile measure() {
    measure::Budget budget(world_, 60);
    cost::Profile profile;
    auto& hardware = profile.hardware;
    measure::describe_nodes(world_, hardware);
    hardware.gemm_flops.assign(static_cast<size_t>(world_.size()), 1e15);
    hardware.memory_bytes_per_second.assign(static_cast<size_t>(world_.size()), 1e15);
    store::RawTable raw;
    budget.begin("links", 0.2);
    const measure::LinkPaths paths(world_, device_);
    measure::LinkOptions links;
    links.sizes = measure::geometric_sizes(8, 1 << 20, 4);
    const auto map = measure::measure_links(world_, paths.list(), links, budget);
    measure::store_links(map, paths.list().front().name, hardware);
    budget.end(1, 1, "maps");
    budget.begin("collectives", 0.4);
    measure::CollectiveOptions collectives;
    collectives.sizes = measure::geometric_sizes(1024, 1 << 20, 4);
    measure::measure_collectives(world_, device_, measure::group_sets(measure::nodes_of_ranks(world_)),
                                 collectives, budget, hardware, raw);
    budget.end(1, 1, "sets");
    std::vector<measure::LayerCase> cases;
    for (const auto& subject : subjects_)
      for (int64_t layer = 0; layer < model_.size(); ++layer) {
        auto context = plan::context_of(subject.plan, model_, layer,
                                        subject.plan.first_rank_of_stage(subject.plan.stage_of_layer(layer)),
                                        core::DType::f32);
        context.coordinate = {};
        cases.push_back({model_.layers[static_cast<size_t>(layer)], context});
      }
    budget.begin("layers", 1);
    measure::measure_layers(world_, device_, *kernels_, cases, {}, budget, profile.model, raw);
    budget.end(1, 1, "lists");
    set_times(profile.model);
    return profile;
  }

  /// What kernels were told to take: a machine that wakes sleepers late would show in every one alone.
  void set_times(cost::ModelProfile& profile) const {
    for (auto& [key, curve] : profile.steps) {
      const auto gemm = cost::parse_gemm_key(key);
      if (!gemm && !key.starts_with("attention")) continue;
      for (auto& point : curve.points) {
        const double flops = gemm ? 2.0 * static_cast<double>(gemm->first * gemm->second) * point.x : 0;
        point.seconds = std::max(pace.least_seconds, flops * pace.seconds_per_flop);
      }
    }
  }

  void predict(const cost::Profile& profile) {
    const spec::ClusterSpec cluster{world_.nodes(), world_.local_size(), 0};
    const runtime::KernelWorkspace workspace(*kernels_);
    cost::LayerPricer pricer(profile, cluster, workspace, {true, true, true});
    for (auto& subject : subjects_) {
      subject.plan.forms = profile.hardware.forms;
      const auto price = cost::price_plan(subject.plan, model_, core::DType::f32, pricer);
      subject.predicted = price.step_seconds;
      for (const auto& memory : price.memory)
        subject.priced_bytes = std::max(subject.priced_bytes, memory.arena.total());
    }
  }

  void play(Subject& subject) {
    runtime::Session session(world_, device_, *kernels_, subject.plan, model_, {});
    const auto data = store::make_synthetic_dataset(1, "paced", 100000, model_.vocab);
    runtime::Loader loader(
        *data, [&](int64_t sample) { return sample * (model_.seq + 1); }, subject.plan, model_,
        world_.rank());
    const deck::TrainSection train;
    for (int64_t step = 0; step < 3; ++step) {
      loader.seek(step * subject.plan.batch);
      world_.barrier();
      double seconds = session.step(loader, train, step).seconds;
      world_.all_reduce(std::span(&seconds, 1), core::ReduceOp::max);
      if (step > 0) subject.seconds.push_back(seconds);
    }
    check_bytes(subject, session.stage().planned_bytes(), session.stage().high_water_bytes());
  }

  void check_bytes(const Subject& subject, int64_t planned, int64_t reached) {
    exact_ = exact_ && planned == reached;
    world_.all_reduce(std::span(&planned, 1), core::ReduceOp::max);
    exact_ = exact_ && planned == subject.priced_bytes;
    if (subject.seconds.size() > 2 || !prints()) return;
    const auto dry = runtime::rehearse(subject.plan, model_, core::DType::f32, 1);
    exact_ = exact_ && dry.peak_bytes() == subject.priced_bytes;
  }

  int report() {
    std::vector<double> errors, noise, predicted, measured;
    for (const auto& s : subjects_) {
      errors.push_back(s.error());
      noise.push_back(s.noise());
      predicted.push_back(s.predicted);
      measured.push_back(s.measured());
      if (prints())
        std::printf(
            "  %-16s predicted %8.1f ms, measured %8.1f ms, error %+5.1f %%, noise %4.1f %%, %lld B\n",
            s.name.c_str(), 1e3 * s.predicted, 1e3 * s.measured(), 100 * (s.predicted / s.measured() - 1),
            100 * s.noise(), static_cast<long long>(s.priced_bytes));
    }
    const auto mean = [](const std::vector<double>& v) {
      return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
    };
    int64_t different = exact_ ? 0 : 1;
    world_.all_reduce(std::span(&different, 1), core::ReduceOp::max);
    if (prints())
      std::printf(
          "RESULT bench=accuracy item=paced ranks=%d plans=%zu mean_error=%.4f p95_error=%.4f floor=%.4f "
          "rank_correlation=%.4f planned_bytes=%s\n",
          world_.size(), subjects_.size(), mean(errors), quantile(errors, 0.95), mean(noise),
          rank_correlation(predicted, measured), different == 0 ? "exact" : "differ");
    return different == 0 ? 0 : 1;
  }

  /// Spearman's: the correlation of the places in the two orders.
  static double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
    const auto places = [](const std::vector<double>& v) {
      std::vector<double> out;
      for (const double x : v)
        out.push_back(
            static_cast<double>(std::count_if(v.begin(), v.end(), [&](double y) { return y < x; })));
      return out;
    };
    const auto pa = places(a), pb = places(b);
    const double n = static_cast<double>(a.size()), middle = (n - 1) / 2;
    double both = 0, of_a = 0, of_b = 0;
    for (size_t i = 0; i < pa.size(); ++i) {
      both += (pa[i] - middle) * (pb[i] - middle);
      of_a += (pa[i] - middle) * (pa[i] - middle);
      of_b += (pb[i] - middle) * (pb[i] - middle);
    }
    return both / std::sqrt(of_a * of_b);
  }

  static constexpr Pace pace{2e-9, 0.005};

  comm::World& world_;
  device::Device& device_;
  spec::ModelSpec model_;
  std::unique_ptr<kernels::Kernels> kernels_;
  std::vector<Subject> subjects_;
  bool exact_ = true;
};

}  // namespace
}  // namespace galvatron::bench

int main(int argc, char** argv) {
  using namespace galvatron;
  const comm::Guard guard;
  const auto device = device::make_device(device::DeviceKind::cpu);
  const auto world = comm::make_mpi_world(*device);
  try {
    return bench::PacedBench(*world, *device).run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 3);
  } catch (const core::Error& error) {
    if (world->rank() == 0) std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
