// The shape rules of every call, written as one line per operand.

#include "kernels/checks.hpp"

#include <algorithm>
#include <concepts>
#include <string>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::kernels::checks {
namespace {

using core::DType;

std::string describe(int64_t rows, int64_t cols, DType dtype) {
  return core::format("{} x {} {}", rows, cols, core::name(dtype));
}

bool is_floating(DType type) {
  return type == DType::f32 || type == DType::f64 || type == DType::bf16 || type == DType::f16;
}

/// One call's operands, checked against what its first ones imply.
class Call {
 public:
  explicit Call(const char* name) : name_(name) {}

  const Call& operand(const char* what, const TensorView& view, int64_t rows, int64_t cols,
                      DType dtype) const {
    if (view.rows != rows || view.cols != cols || view.dtype != dtype) {
      fail(what, view, "expected " + describe(rows, cols, dtype));
    }
    if (view.rows > 1 && view.row_stride < view.cols) {
      fail(what, view, core::format("rows overlap: row stride {}", view.row_stride));
    }
    return *this;
  }

  const Call& optional(const char* what, const TensorView& view, int64_t rows, int64_t cols,
                       DType dtype) const {
    return view.present() ? operand(what, view, rows, cols, dtype) : *this;
  }

  /// The operand that decides the element type.
  const Call& floating(const char* what, const TensorView& view) const {
    if (!is_floating(view.dtype)) fail(what, view, "expected a floating type");
    return operand(what, view, view.rows, view.cols, view.dtype);
  }

  /// The operand that decides the element type where only sums are touched.
  const Call& accumulator(const char* what, const TensorView& view) const {
    if (!is_floating(view.dtype) || core::accumulator_of(view.dtype) != view.dtype)
      fail(what, view, "expected f32 or f64");
    return operand(what, view, view.rows, view.cols, view.dtype);
  }

  /// A result: of type T or of its sums' type, of the latter where it accumulates.
  const Call& result(const char* what, const TensorView& view, int64_t rows, int64_t cols, DType type,
                     Write write) const {
    const auto sums = core::accumulator_of(type);
    return operand(what, view, rows, cols, write == Write::overwrite && view.dtype == type ? type : sums);
  }

  /// A flat run of elements: one row, or rows without gaps.
  const Call& flat(const char* what, const TensorView& view, int64_t count, DType dtype) const {
    if (view.elements() != count || view.dtype != dtype || !view.contiguous()) {
      fail(what, view, core::format("expected {} {} without gaps", count, core::name(dtype)));
    }
    return *this;
  }

  /// `text` is made when it is needed only: calls inside a step ask for no memory.
  template <std::invocable Text>
  void require(bool condition, const Text& text) const {
    if (!condition) throw core::InternalError(core::format("kernels: {}: {}", name_, text()));
  }
  void require(bool condition, const char* text) const {
    require(condition, [&] { return text; });
  }

 private:
  [[noreturn]] void fail(const char* what, const TensorView& view, const std::string& text) const {
    throw core::InternalError(core::format("kernels: {}: {} is {}: {}", name_, what,
                                           describe(view.rows, view.cols, view.dtype), text));
  }

  const char* name_;
};

template <class Args>
void attention_dims(const Call& call, const Args& a) {
  call.require(a.samples >= 0 && a.positions >= 0 && a.pieces >= 1 && a.heads >= 1 && a.kv_heads >= 1 &&
                   a.head_dim >= 1 && a.positions % a.pieces == 0 && a.heads % a.kv_heads == 0,
               [&] {
                 return core::format(
                     "samples {}, positions {} in {} pieces, {} heads on {} of width {} do not fit",
                     a.samples, a.positions, a.pieces, a.heads, a.kv_heads, a.head_dim);
               });
}

/// The parts of a ring's attention cut a block's positions into two halves.
template <class Args>
void attention_halves(const Call& call, const Args& a) {
  call.require(a.part == AttentionPart::diagonal || a.positions % 2 == 0,
               [&] { return core::format("{} positions have no halves", a.positions); });
}

/// All places of the rows are rows of a table of `table_rows`; −1: no table.
void positions_fit(const Call& call, const RowPositions& p, int64_t rows, int64_t table_rows) {
  call.require(p.samples >= 1 && p.pieces >= 1 && p.length >= 0 && p.begin >= 0 && p.rows() == rows, [&] {
    return core::format("{} samples of {} pieces of {} positions from {} on are not {} rows", p.samples,
                        p.pieces, p.length, p.begin, rows);
  });
  if (rows == 0) return;
  const auto last = p.begin + p.pieces * p.length - 1;
  for (const auto c :
       {p.begin, std::clamp(p.half - 1, p.begin, last), std::clamp(p.half, p.begin, last), last}) {
    const auto place = p.of_coordinate(c);
    call.require(place >= 0 && (table_rows < 0 || place < table_rows),
                 [&] { return core::format("position {} in a table of {}", place, table_rows); });
  }
}

/// Master copy, gradient and the rounded copy of what an optimizer changes.
void updated(const Call& call, const TensorView& parameter, const TensorView& gradient,
             const TensorView& working) {
  const auto count = parameter.elements();
  const auto type = parameter.dtype;
  call.accumulator("parameter", parameter).flat("parameter", parameter, count, type);
  call.flat("gradient", gradient, count, type);
  if (!working.present()) return;
  call.floating("working", working).flat("working", working, count, working.dtype);
  call.require(core::accumulator_of(working.dtype) == type, "the working copy is of another precision");
}

}  // namespace

void gemm(const GemmArgs& a) {
  const Call call("gemm");
  const auto type = a.a.dtype;
  const auto m = a.c.rows;
  const auto n = a.c.cols;
  const auto k = a.transpose_a == Transpose::yes ? a.a.rows : a.a.cols;
  call.floating("a", a.a).result("c", a.c, m, n, type, a.write);
  if (a.transpose_a == Transpose::yes) {
    call.operand("a (transposed)", a.a, k, m, type);
  } else {
    call.operand("a", a.a, m, k, type);
  }
  if (a.transpose_b == Transpose::yes) {
    call.operand("b (transposed)", a.b, n, k, type);
  } else {
    call.operand("b", a.b, k, n, type);
  }
  call.optional("bias", a.bias, 1, n, type);
  call.require(!(a.bias.present() && a.write == Write::accumulate),
               "a bias and accumulation exclude each other");
}

void epilogue(const GemmArgs& a, const Epilogue& e) {
  switch (e.kind) {
    case core::EpilogueKind::gelu:
      return activation(ActivationKind::gelu, a.c, e.out);
    case core::EpilogueKind::gelu_backward:
      return activation_backward(ActivationKind::gelu, e.x, a.c, e.out);
    case core::EpilogueKind::column_sum:
      return column_sum(a.a, e.out);
  }
}

void norm(const NormArgs& a) {
  const auto [rows, cols, type] = std::tuple(a.x.rows, a.x.cols, a.x.dtype);
  const Call call("norm");
  call.floating("x", a.x).operand("gamma", a.gamma, 1, cols, type).optional("beta", a.beta, 1, cols, type);
  call.operand("y", a.y, rows, cols, type).operand("stats", a.stats, rows, 2, core::accumulator_of(type));
}

void norm_backward(const NormBackwardArgs& a) {
  const auto [rows, cols, type] = std::tuple(a.x.rows, a.x.cols, a.x.dtype);
  const Call call("norm_backward");
  call.floating("x", a.x).operand("gamma", a.gamma, 1, cols, type);
  call.operand("dy", a.dy, rows, cols, type).optional("residual", a.residual, rows, cols, type);
  const auto sums = core::accumulator_of(type);
  call.operand("dx", a.dx, rows, cols, type).operand("dgamma", a.dgamma, 1, cols, sums);
  call.optional("dbeta", a.dbeta, 1, cols, sums).operand("stats", a.stats, rows, 2, sums);
}

void activation(ActivationKind kind, const TensorView& x, const TensorView& y) {
  const auto wide = kind == ActivationKind::swiglu ? 2 : 1;
  Call("activation").floating("y", y).operand("x", x, y.rows, wide * y.cols, y.dtype);
}

void activation_backward(ActivationKind kind, const TensorView& x, const TensorView& dy,
                         const TensorView& dx) {
  const auto wide = kind == ActivationKind::swiglu ? 2 : 1;
  const Call call("activation_backward");
  call.floating("dy", dy).operand("x", x, dy.rows, wide * dy.cols, dy.dtype);
  call.operand("dx", dx, dy.rows, wide * dy.cols, dy.dtype);
}

void attention(const AttentionArgs& a) {
  const Call call("attention");
  attention_dims(call, a);
  const auto rows = a.samples * a.positions;
  const auto type = a.q.dtype;
  call.floating("q", a.q).operand("q", a.q, rows, a.heads * a.head_dim, type);
  call.operand("k", a.k, rows, a.kv_heads * a.head_dim, type);
  call.operand("v", a.v, rows, a.kv_heads * a.head_dim, type);
  call.result("out", a.out, rows, a.heads * a.head_dim, type, a.write);
  call.operand("lse", a.lse, rows, a.heads, core::accumulator_of(type));
  attention_halves(call, a);
}

void attention_backward(const AttentionBackwardArgs& a) {
  const Call call("attention_backward");
  attention_dims(call, a);
  const auto rows = a.samples * a.positions;
  const auto type = a.q.dtype;
  call.floating("q", a.q);
  const auto q_cols = a.heads * a.head_dim;
  const auto kv_cols = a.kv_heads * a.head_dim;
  call.operand("q", a.q, rows, q_cols, type).operand("dout", a.dout, rows, q_cols, type);
  call.operand("k", a.k, rows, kv_cols, type).operand("v", a.v, rows, kv_cols, type);
  call.result("out", a.out, rows, q_cols, type, Write::overwrite);
  call.operand("lse", a.lse, rows, a.heads, core::accumulator_of(type));
  call.result("dq", a.dq, rows, q_cols, type, a.write_q);
  call.result("dk", a.dk, rows, kv_cols, type, a.write_kv)
      .result("dv", a.dv, rows, kv_cols, type, a.write_kv);
  attention_halves(call, a);
}

void add(const TensorView& a, const TensorView& b, const TensorView& bias, const TensorView& out) {
  const Call call("add");
  call.floating("a", a).operand("b", b, a.rows, a.cols, a.dtype).optional("bias", bias, 1, a.cols, a.dtype);
  call.operand("out", out, a.rows, a.cols, a.dtype);
}

void column_sum(const TensorView& x, const TensorView& out) {
  Call("column_sum").floating("x", x).operand("out", out, 1, x.cols, core::accumulator_of(x.dtype));
}

void embedding(const TensorView& ids, const TensorView& table, const TensorView& out) {
  const Call call("embedding");
  call.floating("table", table).operand("ids", ids, 1, ids.cols, DType::i32);
  call.operand("out", out, ids.cols, table.cols, table.dtype);
}

void embedding_backward(const TensorView& ids, const TensorView& dout, const TensorView& dtable) {
  const Call call("embedding_backward");
  call.floating("dout", dout).operand("ids", ids, 1, ids.cols, DType::i32);
  call.operand("dout", dout, ids.cols, dtable.cols, dout.dtype);
  call.operand("dtable", dtable, dtable.rows, dtable.cols, core::accumulator_of(dout.dtype));
}

void add_positions(const TensorView& x, const TensorView& table, const RowPositions& positions,
                   const TensorView& out) {
  const Call call("add_positions");
  call.floating("x", x).operand("out", out, x.rows, x.cols, x.dtype);
  call.operand("table", table, table.rows, x.cols, x.dtype);
  positions_fit(call, positions, x.rows, table.rows);
}

void add_positions_backward(const TensorView& dout, const RowPositions& positions, const TensorView& dtable) {
  const Call call("add_positions_backward");
  call.floating("dout", dout);
  call.operand("dtable", dtable, dtable.rows, dout.cols, core::accumulator_of(dout.dtype));
  positions_fit(call, positions, dout.rows, dtable.rows);
}

void rope(const RopeArgs& a) {
  const Call call("rope");
  call.floating("x", a.x).operand("y", a.y, a.x.rows, a.x.cols, a.x.dtype);
  positions_fit(call, a.positions, a.x.rows, -1);
  call.require(a.heads >= 0 && a.head_dim >= 2 && a.head_dim % 2 == 0 && a.heads * a.head_dim <= a.x.cols,
               [&] { return core::format("{} heads of {} in {} columns", a.heads, a.head_dim, a.x.cols); });
  call.require(a.base > 0.0, [&] { return core::format("base {}", a.base); });
}

void cross_entropy(const CrossEntropyArgs& a) {
  const Call call("cross_entropy");
  const auto rows = a.logits.rows;
  call.floating("logits", a.logits).operand("labels", a.labels, 1, rows, DType::i32);
  const auto sums = core::accumulator_of(a.logits.dtype);
  if (a.phase == CrossEntropyPhase::whole) {
    call.optional("stats", a.stats, 3, rows, sums);
  } else {
    call.operand("stats", a.stats, 3, rows, sums);
  }
  if (a.phase == CrossEntropyPhase::whole || a.phase == CrossEntropyPhase::gradient) {
    call.operand("loss", a.loss, 1, 1, DType::f64);
  }
  call.require(a.vocab_begin >= 0 && a.vocab >= 1, [&] {
    return core::format("a slice from {} on of a vocabulary of {}", a.vocab_begin, a.vocab);
  });
  call.require(a.phase != CrossEntropyPhase::whole || (a.vocab_begin == 0 && a.logits.cols >= a.vocab),
               "the whole phase needs the whole vocabulary");
}

void fill(const TensorView& x) {
  Call("fill").floating("x", x);
}

void copy(const TensorView& from, const TensorView& to) {
  const Call call("copy");
  const auto converts =
      is_floating(from.dtype) && is_floating(to.dtype) &&
      (core::accumulator_of(from.dtype) == to.dtype || core::accumulator_of(to.dtype) == from.dtype);
  call.operand("to", to, from.rows, from.cols, converts ? to.dtype : from.dtype);
  call.operand("from", from, from.rows, from.cols, from.dtype);
}

void adamw(const AdamWArgs& a) {
  const Call call("adamw");
  const auto count = a.parameter.elements();
  updated(call, a.parameter, a.gradient, a.working);
  call.flat("exp_avg", a.exp_avg, count, a.parameter.dtype);
  call.flat("exp_avg_sq", a.exp_avg_sq, count, a.parameter.dtype);
  call.require(a.step >= 1, [&] { return core::format("step {} is before the first", a.step); });
  int64_t covered = 0;
  for (const auto& range : a.decay) {
    call.require(range.begin == covered && range.end >= range.begin, [&] {
      return core::format("decay range {} to {} does not follow {}", range.begin, range.end, covered);
    });
    covered = range.end;
  }
  call.require(covered == count,
               [&] { return core::format("decay ranges cover {} of {} elements", covered, count); });
}

void sgd(const TensorView& parameter, const TensorView& gradient, const TensorView& working) {
  updated(Call("sgd"), parameter, gradient, working);
}

void sum_of_squares(const TensorView& x, const TensorView& out) {
  Call("sum_of_squares").accumulator("x", x).operand("out", out, 1, 1, DType::f64);
}

void workspace(const char* name, const TensorView& view, int64_t bytes) {
  Call(name).require(view.bytes() >= bytes,
                     [&] { return core::format("workspace of {} bytes, {} needed", view.bytes(), bytes); });
}

}  // namespace galvatron::kernels::checks
