// A product and what follows it: results are those of the two steps.

#include "core/format.hpp"
#include "parity/kernels/cases.hpp"

namespace galvatron::kernels::test {
namespace {

struct EpilogueCase {
  int64_t m, n, k, gap;
  Transpose ta, tb;
  bool bias;
};

GemmArgs factors(Workbench& w, const EpilogueCase& c) {
  GemmArgs args;
  const auto a_turned = c.ta == Transpose::yes, b_turned = c.tb == Transpose::yes;
  args.a = w.input(a_turned ? c.k : c.m, a_turned ? c.m : c.k, 1.0, c.gap);
  args.b = w.input(b_turned ? c.n : c.k, b_turned ? c.k : c.n, 1.0, c.gap);
  args.transpose_a = c.ta;
  args.transpose_b = c.tb;
  return args;
}

void play(Workbench& w, GemmArgs& args, const Epilogue& epilogue) {
  args.workspace = w.scratch(w.kernels().gemm_workspace_bytes(args));
  w.kernels().gemm_with(w.stream(), args, epilogue);
}

void run_gelu(Workbench& w, const EpilogueCase& c) {
  auto args = factors(w, c);
  args.c = w.output(c.m, c.n, c.gap);
  if (c.bias) args.bias = w.input(1, c.n);
  const Epilogue epilogue{{}, w.output(c.m, c.n, c.gap), core::EpilogueKind::gelu};
  play(w, args, epilogue);
  w.result("c", args.c);
  w.result("out", epilogue.out);
}

void run_gelu_backward(Workbench& w, const EpilogueCase& c) {
  auto args = factors(w, c);
  args.c = w.output(c.m, c.n, c.gap);
  const Epilogue epilogue{w.input(c.m, c.n, 3.0, c.gap), w.output(c.m, c.n, c.gap),
                          core::EpilogueKind::gelu_backward};
  play(w, args, epilogue);
  w.result("out", epilogue.out);
}

void run_column_sum(Workbench& w, const EpilogueCase& c) {
  auto args = factors(w, c);
  args.c = w.input_sums(c.m, c.n, 1.0, c.gap);
  args.write = Write::accumulate;
  const Epilogue epilogue{{}, w.input_sums(1, c.m), core::EpilogueKind::column_sum};
  play(w, args, epilogue);
  w.result("c", args.c);
  w.result("out", epilogue.out);
}

}  // namespace

std::vector<Case> epilogue_cases() {
  std::vector<Case> cases;
  // The derivative has a zero: a single value near it is smaller than what it is the sum of.
  constexpr double tolerance = 5e-6;
  const auto put = [&](const std::string& name, void (*play_case)(Workbench&, const EpilogueCase&),
                       const EpilogueCase& c, double more_roundings) {
    cases.push_back({core::format("gemm_{}_{}x{}x{}_gap{}", name, c.m, c.n, c.k, c.gap),
                     [play_case, c](Workbench& w) { play_case(w, c); }, tolerance, more_roundings});
  };
  for (const auto& [m, n, k] :
       {std::array<int64_t, 3>{1, 1, 1}, {3, 5, 7}, {37, 40, 65}, {128, 96, 64}, {8, 8, 0}}) {
    for (const int64_t gap : {0, 5, 8}) {
      // Where c is rounded before it is read again, the error is at most that times the steepest slope.
      constexpr double slope = 1.13;
      put("gelu", run_gelu, {m, n, k, gap, Transpose::no, Transpose::yes, false}, slope);
      put("gelu_bias", run_gelu, {m, n, k, gap, Transpose::no, Transpose::yes, true}, slope);
      put("gelu_backward", run_gelu_backward, {m, n, k, gap, Transpose::no, Transpose::no, false}, slope);
      if (k > 0) put("column_sum", run_column_sum, {m, n, k, gap, Transpose::yes, Transpose::no, false}, 0);
    }
  }
  return cases;
}

}  // namespace galvatron::kernels::test
