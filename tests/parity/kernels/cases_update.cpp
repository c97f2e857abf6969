// The loss and the optimizers.

#include "core/format.hpp"
#include "parity/kernels/cases.hpp"

namespace galvatron::kernels::test {
namespace {

CrossEntropyArgs loss_args(Workbench& w, int64_t rows, int64_t cols, int64_t vocab) {
  CrossEntropyArgs args;
  args.logits = w.input(rows, cols, 8.0, 3);
  args.labels = w.ids(rows, -1, static_cast<int32_t>(vocab) - 1);
  args.loss = w.filled(DType::f64, 1, 1, 0.5);
  args.vocab = vocab;
  args.scale = 0.25;
  return args;
}

void run_whole(Workbench& w, int64_t rows, int64_t vocab, double scale, bool stats) {
  auto args = loss_args(w, rows, vocab + 3, vocab);
  args.scale = scale;
  if (stats) args.stats = w.filled(w.sums(), 3, rows, 0.0);
  w.kernels().cross_entropy(w.stream(), args);
  w.result("logits", args.logits);
  w.result("loss", args.loss);
  if (stats) w.result("stats", args.stats);
}

void run_phases(Workbench& w, int64_t rows, int64_t cols, int64_t begin, int64_t vocab) {
  auto args = loss_args(w, rows, cols, vocab);
  args.vocab_begin = begin;
  args.stats = w.output_sums(3, rows, 2);
  args.phase = CrossEntropyPhase::maximum;
  w.kernels().cross_entropy(w.stream(), args);
  args.phase = CrossEntropyPhase::exponentials;
  w.kernels().cross_entropy(w.stream(), args);
  w.result("stats", args.stats);
  args.phase = CrossEntropyPhase::gradient;
  w.kernels().cross_entropy(w.stream(), args);
  w.result("logits", args.logits);
  w.result("loss", args.loss);
}

constexpr int64_t most_ranges = 150;  // in a length that no other case has

void run_adamw(Workbench& w, int64_t count, int64_t step, bool working) {
  AdamWArgs args;
  args.parameter = w.input_sums(1, count);
  args.gradient = w.input_sums(1, count);
  args.exp_avg = w.input_sums(1, count, 0.1);
  args.exp_avg_sq = w.filled(w.sums(), 1, count, 0.25);
  if (working) args.working = w.output(1, count);
  const core::DecayRange ranges[] = {
      {0, count / 3, true}, {count / 3, count / 2, false}, {count / 2, count, true}};
  args.decay = ranges;
  std::vector<core::DecayRange> many;
  for (int64_t begin = 0; count == most_ranges * 7 && begin < count; begin += 7)
    many.push_back({begin, begin + 7, begin % 2 == 0});
  if (!many.empty()) args.decay = many;
  args.weight_decay = 0.1;
  args.lr = 1e-2;
  args.gradient_scale = 0.5;
  args.step = step;
  w.kernels().adamw(w.stream(), args);
  w.result("parameter", args.parameter);
  w.result("exp_avg", args.exp_avg);
  w.result("exp_avg_sq", args.exp_avg_sq);
  w.result("gradient", args.gradient);
  if (working) w.result("working", args.working);
}

}  // namespace

std::vector<Case> cross_entropy_cases() {
  std::vector<Case> cases;
  for (const auto& [rows, vocab] : {std::pair<int64_t, int64_t>{1, 2}, {17, 33}, {40, 1037}}) {
    for (const auto stats : {false, true}) {
      for (const auto scale : {0.0, 0.25}) {
        cases.push_back({core::format("loss_whole_{}x{}_{}{}", rows, vocab,
                                      scale == 0.0 ? "value" : "gradient", stats ? "_stats" : ""),
                         [rows = rows, vocab = vocab, scale, stats](Workbench& w) {
                           run_whole(w, rows, vocab, scale, stats);
                         },
                         4e-6});
      }
    }
    cases.push_back({core::format("loss_phases_{}x{}", rows, vocab),
                     [rows = rows, vocab = vocab](Workbench& w) { run_phases(w, rows, vocab, 1, vocab); },
                     4e-6});
  }
  return cases;
}

std::vector<Case> optimizer_cases() {
  std::vector<Case> cases;
  for (const int64_t count : {int64_t{1}, int64_t{7}, most_ranges * 7, int64_t{50000}}) {
    for (const auto working : {false, true}) {
      for (const int64_t step : {1, 1000}) {
        cases.push_back({core::format("adamw_{}_step{}{}", count, step, working ? "_working" : ""),
                         [count, step, working](Workbench& w) { run_adamw(w, count, step, working); }});
      }
      cases.push_back(
          {core::format("sgd_{}{}", count, working ? "_working" : ""), [count, working](Workbench& w) {
             const auto parameter = w.input_sums(1, count);
             const auto gradient = w.input_sums(1, count);
             const auto copy = working ? w.output(1, count) : TensorView{};
             w.kernels().sgd(w.stream(), parameter, gradient, copy, 0.1, 0.5);
             w.result("parameter", parameter);
             w.result("gradient", gradient);
             if (working) w.result("working", copy);
           }});
    }
  }
  return cases;
}

}  // namespace galvatron::kernels::test
