// Normalisation and activations.

#include "core/format.hpp"
#include "parity/kernels/cases.hpp"

namespace galvatron::kernels::test {
namespace {

struct NormCase {
  int64_t rows, cols, gap;
  NormKind kind;
  bool beta, residual;
};

void run_norm(Workbench& w, const NormCase& c) {
  NormArgs forward;
  forward.x = w.input(c.rows, c.cols, 3.0, c.gap);
  forward.gamma = w.input(1, c.cols, 2.0);
  if (c.beta) forward.beta = w.input(1, c.cols);
  forward.y = w.output(c.rows, c.cols, c.gap);
  forward.stats = w.output_sums(c.rows, 2);
  forward.kind = c.kind;
  w.kernels().norm(w.stream(), forward);
  NormBackwardArgs backward;
  backward.x = forward.x;
  backward.gamma = forward.gamma;
  backward.stats = forward.stats;
  backward.dy = w.input(c.rows, c.cols, 1.0, c.gap);
  if (c.residual) backward.residual = w.input(c.rows, c.cols, 1.0, c.gap);
  backward.dx = c.residual ? backward.residual : w.output(c.rows, c.cols, c.gap);
  backward.dgamma = w.input_sums(1, c.cols);
  if (c.beta) backward.dbeta = w.input_sums(1, c.cols);
  backward.kind = c.kind;
  backward.workspace = w.scratch(w.kernels().norm_backward_workspace_bytes(backward));
  w.kernels().norm_backward(w.stream(), backward);
  w.result("y", forward.y);
  w.result("stats", forward.stats);
  w.result("dx", backward.dx);
  w.result("dgamma", backward.dgamma);
  if (c.beta) w.result("dbeta", backward.dbeta);
}

}  // namespace

std::vector<Case> norm_cases() {
  std::vector<Case> cases;
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{1, 3}, {1, 33}, {65, 48}, {70, 769}}) {
    for (const auto kind : {NormKind::layernorm, NormKind::rmsnorm}) {
      for (const auto plain : {true, false}) {
        const NormCase c{rows, cols, plain ? 0 : 7, kind, !plain || kind == NormKind::layernorm, !plain};
        cases.push_back({core::format("{}_{}x{}_{}", kind == NormKind::layernorm ? "layernorm" : "rmsnorm",
                                      rows, cols, plain ? "plain" : "strided_residual"),
                         [c](Workbench& w) { run_norm(w, c); }});
      }
    }
  }
  return cases;
}

std::vector<Case> activation_cases() {
  std::vector<Case> cases;
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{1, 1}, {5, 37}, {90, 300}}) {
    for (const auto gap : {0, 3}) {
      cases.push_back(
          {core::format("gelu_{}x{}_gap{}", rows, cols, gap), [rows = rows, cols = cols, gap](Workbench& w) {
             const auto x = w.input(rows, cols, 6.0, gap);
             const auto y = w.output(rows, cols);
             const auto dy = w.input(rows, cols, 1.0, gap);
             w.kernels().activation(w.stream(), ActivationKind::gelu, x, y);
             w.kernels().activation_backward(w.stream(), ActivationKind::gelu, x, dy, dy);
             w.result("y", y);
             w.result("dx", dy);
           }});
      cases.push_back({core::format("swiglu_{}x{}_gap{}", rows, cols, gap),
                       [rows = rows, cols = cols, gap](Workbench& w) {
                         const auto x = w.input(rows, 2 * cols, 6.0, gap);
                         const auto y = w.output(rows, cols, gap);
                         const auto dx = w.output(rows, 2 * cols, gap);
                         w.kernels().activation(w.stream(), ActivationKind::swiglu, x, y);
                         w.kernels().activation_backward(w.stream(), ActivationKind::swiglu, x,
                                                         w.input(rows, cols), dx);
                         w.result("y", y);
                         w.result("dx", dx);
                       }});
    }
  }
  return cases;
}

}  // namespace galvatron::kernels::test
