// Attention: whole causal attention with its backward, and each part of a ring's.

#include "core/format.hpp"
#include "parity/kernels/attention_parts.hpp"
#include "parity/kernels/cases.hpp"

namespace galvatron::kernels::test {
namespace {

struct AttentionCase {
  int64_t samples, positions, pieces, heads, kv_heads, head_dim;
};

constexpr AttentionCase whole_shapes[] = {
    {1, 1, 1, 1, 1, 1},    {2, 6, 3, 2, 2, 5},    {1, 97, 1, 3, 1, 16},
    {2, 192, 2, 4, 2, 32}, {1, 250, 2, 2, 1, 64}, {1, 300, 3, 1, 1, 80},
    {2, 95, 1, 2, 2, 128}, {1, 130, 1, 6, 2, 33}, {1, 270, 1, 2, 1, 130}};
/// The third and the last but one have a piece across the middle of the block.
constexpr AttentionCase part_shapes[] = {{2, 2, 1, 2, 2, 7},    {1, 130, 1, 3, 1, 16}, {2, 6, 3, 2, 2, 5},
                                         {2, 102, 2, 2, 2, 32}, {1, 200, 4, 2, 1, 33}, {1, 294, 3, 1, 1, 48},
                                         {1, 38, 1, 2, 1, 130}};

void run_attention(Workbench& w, const AttentionCase& c) {
  const auto rows = c.samples * c.positions;
  const auto q_cols = c.heads * c.head_dim;
  const auto kv_cols = c.kv_heads * c.head_dim;
  const auto qkv = w.input(rows, q_cols + 2 * kv_cols, 2.0);
  const auto dqkv = w.output(rows, q_cols + 2 * kv_cols);
  AttentionArgs forward;
  set_attention_dims(forward, c);
  forward.q = columns(qkv, 0, q_cols);
  forward.k = columns(qkv, q_cols, kv_cols);
  forward.v = columns(qkv, q_cols + kv_cols, kv_cols);
  forward.out = w.output(rows, q_cols, 3);
  forward.lse = w.filled(w.sums(), rows, c.heads, std::nan(""));
  forward.workspace = w.scratch(w.kernels().attention_workspace_bytes(forward));
  w.kernels().attention(w.stream(), forward);
  AttentionBackwardArgs backward;
  set_attention_dims(backward, c);
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

/// What a call writes to: numbers to add to, or NaN.
TensorView target(Workbench& w, Write write, Stored stored, int64_t rows, int64_t cols) {
  if (write == Write::accumulate) return w.input_sums(rows, cols, 1.0, 3);
  return w.filled(stored == Stored::sums ? w.sums() : w.dtype(), rows, cols, std::nan(""), 3);
}

const char* name_of(Write write) {
  return write == Write::accumulate ? "accumulate" : "overwrite";
}

const char* name_of(AttentionPart part) {
  if (part == AttentionPart::diagonal) return "diagonal";
  return part == AttentionPart::earlier ? "earlier" : "later";
}

}  // namespace

std::string AttentionPartCase::name() const {
  return core::format("{}_{}_{}_{}_b{}_s{}_pieces{}_heads{}on{}_width{}", name_of(part), name_of(write),
                      name_of(write_q), name_of(write_kv), samples, positions, pieces, heads, kv_heads,
                      head_dim);
}

std::vector<AttentionPartCase> attention_part_cases() {
  constexpr auto overwrite = Write::overwrite;
  constexpr auto accumulate = Write::accumulate;
  std::vector<AttentionPartCase> cases;
  for (const auto& s : part_shapes) {
    for (const auto part : {AttentionPart::diagonal, AttentionPart::earlier, AttentionPart::later}) {
      const AttentionPartCase c{s.samples,  s.positions, s.pieces,  s.heads,   s.kv_heads,
                                s.head_dim, part,        overwrite, overwrite, overwrite};
      cases.insert(cases.end(), 3, c);
      auto& adding = cases[cases.size() - 2];
      adding.write = adding.write_q = adding.write_kv = accumulate;
      cases.back().write_kv = accumulate;
    }
  }
  return cases;
}

void run_attention_part(Workbench& w, const AttentionPartCase& c, Stored stored) {
  const auto rows = c.samples * c.positions;
  const auto q_cols = c.heads * c.head_dim;
  const auto kv_cols = c.kv_heads * c.head_dim;
  const auto qkv = w.input(rows, q_cols + 2 * kv_cols, 2.0);
  AttentionArgs forward;
  set_attention_dims(forward, c);
  forward.part = c.part;
  forward.write = c.write;
  forward.q = columns(qkv, 0, q_cols);
  forward.k = columns(qkv, q_cols, kv_cols);
  forward.v = columns(qkv, q_cols + kv_cols, kv_cols);
  // Numbers even where they are overwritten: queries outside of the part keep them.
  const auto whole = stored == Stored::elements && c.write == Write::overwrite;
  forward.out = whole ? w.input(rows, q_cols, 1.0, 3) : w.input_sums(rows, q_cols, 1.0, 3);
  forward.lse = w.input_sums(rows, c.heads, 2.0);
  forward.workspace = w.scratch(w.kernels().attention_workspace_bytes(forward));
  w.kernels().attention(w.stream(), forward);
  AttentionBackwardArgs backward;
  set_attention_dims(backward, c);
  backward.part = c.part;
  backward.write_q = c.write_q;
  backward.write_kv = c.write_kv;
  backward.q = forward.q;
  backward.k = forward.k;
  backward.v = forward.v;
  backward.out = stored == Stored::elements ? w.input(rows, q_cols) : w.input_sums(rows, q_cols);
  backward.lse = w.input_sums(rows, c.heads, 1.0);
  backward.dout = w.input(rows, q_cols, 1.0, 5);
  backward.dq = target(w, c.write_q, stored, rows, q_cols);
  backward.dk = target(w, c.write_kv, stored, rows, kv_cols);
  backward.dv = target(w, c.write_kv, stored, rows, kv_cols);
  backward.workspace = w.scratch(w.kernels().attention_backward_workspace_bytes(backward));
  w.kernels().attention_backward(w.stream(), backward);
  w.result("out", forward.out);
  w.result("lse", forward.lse);
  w.result("dq", backward.dq);
  w.result("dk", backward.dk);
  w.result("dv", backward.dv);
}

std::vector<Case> attention_cases() {
  std::vector<Case> cases;
  for (const auto& c : whole_shapes) {
    cases.push_back({core::format("attention_b{}_s{}_pieces{}_heads{}on{}_width{}", c.samples, c.positions,
                                  c.pieces, c.heads, c.kv_heads, c.head_dim),
                     [c](Workbench& w) { run_attention(w, c); }});
  }
  for (const auto& c : attention_part_cases()) {
    cases.push_back({"attention_" + c.name(), [c](Workbench& w) { run_attention_part(w, c, Stored::sums); }});
  }
  return cases;
}

}  // namespace galvatron::kernels::test
