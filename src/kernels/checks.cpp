// The shape rules of every call, written as one line per operand.

#include "kernels/checks.hpp"

#include <string>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::kernels::checks {
namespace {

using core::DType;

std::string describe(int64_t rows, int64_t cols, DType dtype) {
  return core::format("{} x {} {}", rows, cols, core::name(dtype));
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
    if (view.dtype != DType::f32 && view.dtype != DType::f64) fail(what, view, "expected f32 or f64");
    return operand(what, view, view.rows, view.cols, view.dtype);
  }

  /// A flat run of elements: one row, or rows without gaps.
  const Call& flat(const char* what, const TensorView& view, int64_t count, DType dtype) const {
    if (view.elements() != count || view.dtype != dtype || !view.contiguous()) {
      fail(what, view, core::format("expected {} {} without gaps", count, core::name(dtype)));
    }
    return *this;
  }

  void require(bool condition, const std::string& text) const {
    if (!condition) throw core::InternalError(core::format("kernels: {}: {}", name_, text));
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
               core::format("samples {}, positions {} in {} pieces, {} heads on {} of width {} do not fit",
                            a.samples, a.positions, a.pieces, a.heads, a.kv_heads, a.head_dim));
}

}  // namespace

void gemm(const GemmArgs& a) {
  const Call call("gemm");
  const auto type = a.c.dtype;
  const auto m = a.c.rows;
  const auto n = a.c.cols;
  const auto k = a.transpose_a == Transpose::yes ? a.a.rows : a.a.cols;
  call.floating("c", a.c);
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

void norm(const NormArgs& a) {
  const auto [rows, cols, type] = std::tuple(a.x.rows, a.x.cols, a.x.dtype);
  const Call call("norm");
  call.floating("x", a.x).operand("gamma", a.gamma, 1, cols, type).optional("beta", a.beta, 1, cols, type);
  call.operand("y", a.y, rows, cols, type).operand("stats", a.stats, rows, 2, type);
}

void norm_backward(const NormBackwardArgs& a) {
  const auto [rows, cols, type] = std::tuple(a.x.rows, a.x.cols, a.x.dtype);
  const Call call("norm_backward");
  call.floating("x", a.x).operand("gamma", a.gamma, 1, cols, type).operand("stats", a.stats, rows, 2, type);
  call.operand("dy", a.dy, rows, cols, type).optional("residual", a.residual, rows, cols, type);
  call.operand("dx", a.dx, rows, cols, type).operand("dgamma", a.dgamma, 1, cols, type);
  call.optional("dbeta", a.dbeta, 1, cols, type);
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
  call.operand("out", a.out, rows, a.heads * a.head_dim, type).operand("lse", a.lse, rows, a.heads, type);
}

void attention_backward(const AttentionBackwardArgs& a) {
  const Call call("attention_backward");
  attention_dims(call, a);
  const auto rows = a.samples * a.positions;
  const auto type = a.q.dtype;
  call.floating("q", a.q);
  for (const auto& [name, view] : {std::pair("q", &a.q), {"out", &a.out}, {"dout", &a.dout}, {"dq", &a.dq}}) {
    call.operand(name, *view, rows, a.heads * a.head_dim, type);
  }
  for (const auto& [name, view] : {std::pair("k", &a.k), {"v", &a.v}, {"dk", &a.dk}, {"dv", &a.dv}}) {
    call.operand(name, *view, rows, a.kv_heads * a.head_dim, type);
  }
  call.operand("lse", a.lse, rows, a.heads, type);
}

void add(const TensorView& a, const TensorView& b, const TensorView& bias, const TensorView& out) {
  const Call call("add");
  call.floating("a", a).operand("b", b, a.rows, a.cols, a.dtype).optional("bias", bias, 1, a.cols, a.dtype);
  call.operand("out", out, a.rows, a.cols, a.dtype);
}

void column_sum(const TensorView& x, const TensorView& out) {
  Call("column_sum").floating("x", x).operand("out", out, 1, x.cols, x.dtype);
}

void embedding(const TensorView& ids, const TensorView& table, const TensorView& out) {
  const Call call("embedding");
  call.floating("table", table).operand("ids", ids, 1, ids.cols, DType::i32);
  call.operand("out", out, ids.cols, table.cols, table.dtype);
}

void embedding_backward(const TensorView& ids, const TensorView& dout, const TensorView& dtable) {
  const Call call("embedding_backward");
  call.floating("dtable", dtable).operand("ids", ids, 1, ids.cols, DType::i32);
  call.operand("dout", dout, ids.cols, dtable.cols, dtable.dtype);
}

void add_positions(const TensorView& x, const TensorView& table, int64_t begin, int64_t samples,
                   const TensorView& out) {
  const Call call("add_positions");
  call.floating("x", x).operand("out", out, x.rows, x.cols, x.dtype);
  call.operand("table", table, table.rows, x.cols, x.dtype);
  call.require(samples >= 1 && x.rows % samples == 0 && begin >= 0 && begin + x.rows / samples <= table.rows,
               core::format("{} rows of {} samples from position {} on, in a table of {}", x.rows, samples,
                            begin, table.rows));
}

void add_positions_backward(const TensorView& dout, int64_t begin, int64_t samples,
                            const TensorView& dtable) {
  const Call call("add_positions_backward");
  call.floating("dout", dout).operand("dtable", dtable, dtable.rows, dout.cols, dout.dtype);
  call.require(
      samples >= 1 && dout.rows % samples == 0 && begin >= 0 && begin + dout.rows / samples <= dtable.rows,
      core::format("{} rows of {} samples from position {} on, in a table of {}", dout.rows, samples, begin,
                   dtable.rows));
}

void cross_entropy(const CrossEntropyArgs& a) {
  const Call call("cross_entropy");
  const auto rows = a.logits.rows;
  call.floating("logits", a.logits).operand("labels", a.labels, 1, rows, DType::i32);
  if (a.phase == CrossEntropyPhase::whole) {
    call.optional("stats", a.stats, 3, rows, a.logits.dtype);
  } else {
    call.operand("stats", a.stats, 3, rows, a.logits.dtype);
  }
  if (a.phase == CrossEntropyPhase::whole || a.phase == CrossEntropyPhase::gradient) {
    call.operand("loss", a.loss, 1, 1, DType::f64);
  }
  call.require(a.vocab_begin >= 0 && a.vocab >= 1,
               core::format("a slice from {} on of a vocabulary of {}", a.vocab_begin, a.vocab));
  call.require(a.phase != CrossEntropyPhase::whole || (a.vocab_begin == 0 && a.logits.cols >= a.vocab),
               "the whole phase needs the whole vocabulary");
}

void fill(const TensorView& x) {
  Call("fill").floating("x", x);
}

void copy(const TensorView& from, const TensorView& to) {
  Call("copy")
      .operand("to", to, from.rows, from.cols, from.dtype)
      .operand("from", from, to.rows, to.cols, to.dtype);
}

void adamw(const AdamWArgs& a) {
  const Call call("adamw");
  const auto count = a.parameter.elements();
  const auto type = a.parameter.dtype;
  call.floating("parameter", a.parameter).flat("parameter", a.parameter, count, type);
  call.flat("gradient", a.gradient, count, type).flat("exp_avg", a.exp_avg, count, type);
  call.flat("exp_avg_sq", a.exp_avg_sq, count, type);
  call.require(a.step >= 1, core::format("step {} is before the first", a.step));
  int64_t covered = 0;
  for (const auto& range : a.decay) {
    call.require(range.begin == covered && range.end >= range.begin,
                 core::format("decay range {} to {} does not follow {}", range.begin, range.end, covered));
    covered = range.end;
  }
  call.require(covered == count, core::format("decay ranges cover {} of {} elements", covered, count));
}

void sgd(const TensorView& parameter, const TensorView& gradient) {
  const auto count = parameter.elements();
  const Call call("sgd");
  call.floating("parameter", parameter).flat("parameter", parameter, count, parameter.dtype);
  call.flat("gradient", gradient, count, parameter.dtype);
}

void sum_of_squares(const TensorView& x, const TensorView& out) {
  Call("sum_of_squares").floating("x", x).operand("out", out, 1, 1, DType::f64);
}

void workspace(const char* name, const TensorView& view, int64_t bytes) {
  Call(name).require(view.bytes() >= bytes,
                     core::format("workspace of {} bytes, {} needed", view.bytes(), bytes));
}

}  // namespace galvatron::kernels::checks
