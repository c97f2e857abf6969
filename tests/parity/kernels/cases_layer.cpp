// Normalisation, activations and attention.

#include <cmath>

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
  forward.stats = w.output(c.rows, 2);
  forward.kind = c.kind;
  w.kernels().norm(w.stream(), forward);
  NormBackwardArgs backward;
  backward.x = forward.x;
  backward.gamma = forward.gamma;
  backward.stats = forward.stats;
  backward.dy = w.input(c.rows, c.cols, 1.0, c.gap);
  if (c.residual) backward.residual = w.input(c.rows, c.cols, 1.0, c.gap);
  backward.dx = c.residual ? backward.residual : w.output(c.rows, c.cols, c.gap);
  backward.dgamma = w.input(1, c.cols);
  if (c.beta) backward.dbeta = w.input(1, c.cols);
  backward.kind = c.kind;
  backward.workspace = w.scratch(w.kernels().norm_backward_workspace_bytes(backward));
  w.kernels().norm_backward(w.stream(), backward);
  w.result("y", forward.y);
  w.result("stats", forward.stats);
  w.result("dx", backward.dx);
  w.result("dgamma", backward.dgamma);
  if (c.beta) w.result("dbeta", backward.dbeta);
}

struct AttentionCase {
  int64_t samples, positions, pieces, heads, kv_heads, head_dim;
};

template <class Args>
void set_dims(Args& args, const AttentionCase& c) {
  args.samples = c.samples;
  args.positions = c.positions;
  args.pieces = c.pieces;
  args.heads = c.heads;
  args.kv_heads = c.kv_heads;
  args.head_dim = c.head_dim;
  args.scale = 1.0 / std::sqrt(static_cast<double>(c.head_dim));
}

/// Columns [begin, begin + count).
TensorView columns(TensorView view, int64_t begin, int64_t count) {
  if (view.data) view.data += begin * core::size_of(view.dtype);
  view.cols = count;
  return view;
}

void run_attention(Workbench& w, const AttentionCase& c) {
  const auto rows = c.samples * c.positions;
  const auto q_cols = c.heads * c.head_dim;
  const auto kv_cols = c.kv_heads * c.head_dim;
  const auto qkv = w.input(rows, q_cols + 2 * kv_cols, 2.0);
  const auto dqkv = w.output(rows, q_cols + 2 * kv_cols);
  AttentionArgs forward;
  set_dims(forward, c);
  forward.q = columns(qkv, 0, q_cols);
  forward.k = columns(qkv, q_cols, kv_cols);
  forward.v = columns(qkv, q_cols + kv_cols, kv_cols);
  forward.out = w.output(rows, q_cols, 3);
  forward.lse = w.output(rows, c.heads);
  forward.workspace = w.scratch(w.kernels().attention_workspace_bytes(forward));
  w.kernels().attention(w.stream(), forward);
  AttentionBackwardArgs backward;
  set_dims(backward, c);
  backward.q = forward.q;
  backward.k = forward.k;
  backward.v = forward.v;
  backward.out = forward.out;
  backward.lse = forward.lse;
  backward.dout = w.input(rows, q_cols, 1.0, 5);
  backward.dq = columns(dqkv, 0, q_cols);
  backward.dk = columns(dqkv, q_cols, kv_cols);
  backward.dv = columns(dqkv, q_cols + kv_cols, kv_cols);
  backward.workspace = w.scratch(w.kernels().attention_backward_workspace_bytes(backward));
  w.kernels().attention_backward(w.stream(), backward);
  w.result("out", forward.out);
  w.result("lse", forward.lse);
  w.result("dq", backward.dq);
  w.result("dk", backward.dk);
  w.result("dv", backward.dv);
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

std::vector<Case> attention_cases() {
  std::vector<Case> cases;
  for (const auto& c : {AttentionCase{1, 1, 1, 1, 1, 1}, AttentionCase{2, 6, 3, 2, 2, 5},
                        AttentionCase{1, 97, 1, 3, 1, 16}, AttentionCase{2, 192, 2, 4, 2, 32},
                        AttentionCase{1, 250, 2, 2, 1, 64}, AttentionCase{1, 300, 3, 1, 1, 80},
                        AttentionCase{2, 95, 1, 2, 2, 128}, AttentionCase{1, 130, 1, 6, 2, 33}}) {
    cases.push_back({core::format("attention_b{}_s{}_pieces{}_heads{}on{}_width{}", c.samples, c.positions,
                                  c.pieces, c.heads, c.kv_heads, c.head_dim),
                     [c](Workbench& w) { run_attention(w, c); }});
  }
  return cases;
}

}  // namespace galvatron::kernels::test
