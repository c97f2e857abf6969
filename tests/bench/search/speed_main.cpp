// How long searches take, on fixed generators and seeds: one stage of 80 layers and 44 strategies within six
// budgets, whole searches for machines that nobody here has, and the recorded searches of the Python
// Galvatron 3.0, and how a search without bounds is divided among workers. Arguments choose: stages, 70b, 1t,
// reference, scaling; none = all. The last line has them together.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "core/format.hpp"
#include "core/units.hpp"
#include "deck/sections.hpp"
#include "process.hpp"
#include "reference_searches.hpp"
#include "search/report.hpp"
#include "search/search.hpp"
#include "support/paths.hpp"
#include "support/worker_threads.hpp"

namespace galvatron::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Of this process: what a busy machine does not change.
double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// A figure of the last line; "na" for what was not asked for.
struct Figure {
  std::string text = "na";
  void set(double value) { text = core::format("{:.3f}", value); }
};

/// The last line.
struct Summary {
  Figure stage_median, stage_worst, llama, trillion, scaling;
  int64_t labels = 0, cut = 0;
  std::optional<ReferenceReport> reference;

  std::string line() const {
    std::string out = core::format(
        "RESULT bench=search stage80x44_ms={} stage80x44_worst_ms={} llama70b_1024_s={} trillion_16384_s={} "
        "speedup_8_workers={} ",
        stage_median.text, stage_worst.text, llama.text, trillion.text, scaling.text);
    out += reference ? core::format(
                           "reference_min_speedup={:.0f} reference_rows_equal_or_better={} reference_rows={} "
                           "reference_labels={} reference_cut={} reference_worst_ms={:.2f} ",
                           reference->min_speedup, reference->equal_or_better, reference->rows,
                           reference->labels, reference->cut, reference->worst_ms)
                     : "reference_min_speedup=na reference_rows_equal_or_better=na reference_rows=na ";
    return out + core::format("labels={} cut={} peak_bytes={}\n", labels, cut, peak_bytes());
  }
};

void print(const std::string& line) {
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
}

/// Milliseconds and bytes of a layer of a few hundred MiB. correlated: time is what bytes save.
search::Option option_of(test::Dice& dice, bool correlated) {
  search::Option option;
  option.bytes = 50 * core::mib + dice.below(1500 * core::mib);
  const int64_t saved = (1600 * core::mib - option.bytes) / 32;
  option.time = correlated ? 5'000'000 + saved : 5'000'000 + saved / 2 + dice.below(30'000'000);
  option.scratch[search::work] = (1 + dice.below(4)) * 64 * core::mib;
  option.scratch[search::gathered] = dice.below(3) == 0 ? 400 * core::mib : 0;
  return option;
}

struct Outcome {
  std::vector<double> milliseconds, cpu_milliseconds;
  double worst_gap = 0;
  search::PathCounts counts;
};

/// identical: all layers choose from one list; jittered: from lists that differ by a percent; random: from
/// lists of their own.
Outcome stages(const std::string& kind) {
  constexpr int layers = 80, strategies = 44;
  Outcome outcome;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    test::Dice dice(424'242 + seed);
    std::deque<std::vector<search::Option>> lists(1);
    for (int i = 0; i < strategies; ++i) lists[0].push_back(option_of(dice, kind == "correlated"));
    for (int layer = 1; layer < layers && (kind == "jittered" || kind == "random"); ++layer) {
      lists.push_back(lists[0]);
      for (auto& option : lists.back()) {
        if (kind == "random") option = option_of(dice, false);
        option.time += option.time * dice.below(100) / 10'000;
      }
    }
    search::Ways ways(
        1, [](int32_t, int32_t) { return search::Way{}; }, [](int32_t, int32_t) { return search::Way{}; });
    search::PathProblem problem;
    for (int layer = 0; layer < layers; ++layer)
      problem.layers.push_back({&lists[static_cast<size_t>(layer) % lists.size()], search::any_layout});
    for (const int64_t gib : {8, 16, 24, 40, 60, 80}) {
      problem.budget = gib * core::gib;
      const auto begin = Clock::now();
      const double cpu_begin = cpu_seconds();
      const auto path = search::best_path(problem, ways, outcome.counts);
      outcome.milliseconds.push_back(1e3 * seconds_since(begin));
      outcome.cpu_milliseconds.push_back(1e3 * (cpu_seconds() - cpu_begin));
      if (path && path->time > 0)
        outcome.worst_gap = std::max(outcome.worst_gap, static_cast<double>(path->time - path->floor) /
                                                            static_cast<double>(path->time));
    }
  }
  std::sort(outcome.milliseconds.begin(), outcome.milliseconds.end());
  std::sort(outcome.cpu_milliseconds.begin(), outcome.cpu_milliseconds.end());
  return outcome;
}

/// Medians and worst times of the last line are the largest of the kinds for which gap 0 is asked.
void bench_stages(Summary& summary) {
  double median = 0, worst = 0;
  for (const std::string kind : {"identical", "jittered", "random", "correlated"}) {
    const auto o = stages(kind);
    print(core::format(
        "RESULT bench=search_stage layers=80 strategies=44 kind={} median_ms={:.2f} worst_ms={:.2f} "
        "median_cpu_ms={:.2f} worst_cpu_ms={:.2f} "
        "gap={:.1e} labels={} cut={} boxes={} peak_bytes={}\n",
        kind, o.milliseconds[o.milliseconds.size() / 2], o.milliseconds.back(),
        o.cpu_milliseconds[o.cpu_milliseconds.size() / 2], o.cpu_milliseconds.back(), o.worst_gap,
        o.counts.labels, o.counts.cut, o.counts.boxes, peak_bytes()));
    summary.labels += o.counts.labels;
    summary.cut += o.counts.cut;
    if (kind == "correlated") continue;
    median = std::max(median, o.milliseconds[o.milliseconds.size() / 2]);
    worst = std::max(worst, o.milliseconds.back());
  }
  summary.stage_median.set(median);
  summary.stage_worst.set(worst);
}

/// Whole searches use so many threads.
constexpr int workers = 2;

/// A node of eight devices with fast links inside and one port each outside; round figures.
cost::Profile machine(int64_t ranks_per_node) {
  cost::Profile profile;
  auto& hardware = profile.hardware;
  hardware.ranks_per_node = ranks_per_node;
  hardware.gemm_flops = {250e12};
  hardware.memory_bytes_per_second = {1.5e12};
  hardware.transfer_same_node.points = {{.x = 1e3, .seconds = 5e-6},
                                        {.x = 1e9, .seconds = 5e-6 + 1e9 / 200e9}};
  hardware.transfer_across.points = {{.x = 1e3, .seconds = 1e-5}, {.x = 1e9, .seconds = 1e-5 + 1e9 / 20e9}};
  hardware.reserve_bytes = core::gib;
  hardware.nominal = true;
  profile.fingerprint = "bench";
  return profile;
}

void bench_search(const std::string& name, const deck::ModelSection& section, int64_t ranks, int64_t batch,
                  Figure& figure, Summary& summary) {
  const auto model = spec::model_from_deck(section);
  search::SearchOptions options;
  options.batches = {batch};
  options.dtype = core::DType::bf16;
  options.in_node = true;
  options.max_cp = 16;
  options.schedules = {plan::ScheduleKind::one_f_one_b};
  const auto begin = Clock::now();
  const double cpu_begin = cpu_seconds();
  search::SearchResult result;
  const auto profile = machine(8);
  test::on_workers(workers, [&](core::WorkQueue& queue) {
    auto own = search::search(model, {ranks / 8, 8, 80 * core::gib}, profile, options, program::NoWorkspace(),
                              queue);
    if (queue.worker() == 0) result = std::move(own);
  });
  const double seconds = seconds_since(begin), cpu = cpu_seconds() - cpu_begin;
  print(search::ranking_table(result));
  const auto& s = result.statistics;
  print(
      core::format("RESULT bench=search_whole model={} ranks={} batch={} workers={} seconds={:.3f} "
                   "cpu_seconds={:.3f} tasks={} opened={} "
                   "stage_solves={} labels={} cut={} exact={} peak_bytes={}\n",
                   name, ranks, batch, workers, seconds, cpu, s.tasks, s.opened, s.stage_solves, s.labels,
                   s.labels_cut, s.exact ? "yes" : "no", peak_bytes()));
  figure.set(seconds);
  summary.labels += s.labels;
  summary.cut += s.labels_cut;
}

deck::ModelSection llama(int64_t layers, int64_t hidden, int64_t heads, int64_t kv_heads, int64_t ffn,
                         int64_t vocab, int64_t seq) {
  deck::ModelSection section;
  section.family = "llama";
  section.layers = layers;
  section.hidden = hidden;
  section.heads = heads;
  section.kv_heads = kv_heads;
  section.ffn = ffn;
  section.vocab = vocab;
  section.seq = seq;
  section.norm = "rmsnorm";
  section.activation = "swiglu";
  section.position = "rotary";
  section.bias = section.tie_embeddings = false;
  return section;
}

/// CPU seconds of the calling thread.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// A search of which every task is solved, over more and more workers. What the busiest of them computes is
/// how long the search takes where each has a core of its own.
void bench_scaling(Summary& summary) {
  const auto model = spec::model_from_deck(llama(32, 4096, 32, 32, 11008, 32000, 4096));
  search::SearchOptions options;
  options.batches = {256};
  options.dtype = core::DType::bf16;
  options.in_node = true;
  options.max_cp = 4;
  options.schedules = {plan::ScheduleKind::one_f_one_b};
  options.bounds = search::Bounds::off;
  const auto profile = machine(8);
  double alone = 0;
  for (const int count : {1, 2, 4, 8}) {
    std::vector<double> seconds(static_cast<size_t>(count));
    search::Statistics statistics;
    test::on_workers(count, [&](core::WorkQueue& queue) {
      const double begin = thread_seconds();
      const auto result =
          search::search(model, {8, 8, 80 * core::gib}, profile, options, program::NoWorkspace(), queue);
      seconds[static_cast<size_t>(queue.worker())] = thread_seconds() - begin;
      if (queue.worker() == 0) statistics = result.statistics;
    });
    const double busiest = *std::max_element(seconds.begin(), seconds.end());
    if (count == 1) alone = busiest;
    print(core::format(
        "RESULT bench=search_scaling model=llama-7b ranks=64 bounds=off workers={} tasks={} opened={} "
        "cpu_seconds={:.3f} busiest_worker_s={:.3f} speedup={:.2f}\n",
        count, statistics.tasks, statistics.opened, std::accumulate(seconds.begin(), seconds.end(), 0.0),
        busiest, alone / busiest));
    if (count == 8) summary.scaling.set(alone / busiest);
  }
}

}  // namespace
}  // namespace galvatron::bench

int main(int argc, char** argv) {
  using namespace galvatron::bench;
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  const auto asked = [&](const char* name) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  Summary summary;
  if (asked("stages")) bench_stages(summary);
  if (asked("70b"))
    bench_search("llama-70b", llama(80, 8192, 64, 8, 28672, 32000, 4096), 1024, 1024, summary.llama, summary);
  // 128 blocks of 25600: 1.0e12 parameters.
  if (asked("1t"))
    bench_search("1t", llama(128, 25600, 160, 160, 68352, 51200, 2048), 16384, 3072, summary.trillion,
                 summary);
  if (asked("scaling")) bench_scaling(summary);
  if (asked("reference")) {
    summary.reference = reference_searches();
    print(summary.reference->table);
  }
  print(summary.line());
}
