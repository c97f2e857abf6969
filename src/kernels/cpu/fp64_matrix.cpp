// fp64 oracle: products, sums and look-ups. Loops are ordered so that the innermost one walks along a row:
// slow is fine here, but the gradient tests train whole small models with it.

#include <algorithm>
#include <cmath>

#include "kernels/cpu/fp64.hpp"
#include "kernels/cpu/rows.hpp"

namespace galvatron::kernels::fp64 {
namespace {

void multiply_row(const GemmArgs& args, int64_t i, double* c) {
  const auto inner = args.transpose_a == Transpose::yes ? args.a.rows : args.a.cols;
  const auto n = args.c.cols;
  for (int64_t k = 0; k < inner; ++k) {
    const auto a = args.transpose_a == Transpose::yes ? row<double>(args.a, k)[i] : row<double>(args.a, i)[k];
    const auto* b = row<double>(args.b, k);
    for (int64_t j = 0; j < n; ++j) c[j] += a * b[j];
  }
}

void multiply_row_by_transposed(const GemmArgs& args, int64_t i, double* c) {
  const auto inner = args.b.cols;
  for (int64_t j = 0; j < args.c.cols; ++j) {
    const auto* b = row<double>(args.b, j);
    double sum = 0;
    for (int64_t k = 0; k < inner; ++k) {
      sum +=
          (args.transpose_a == Transpose::yes ? row<double>(args.a, k)[i] : row<double>(args.a, i)[k]) * b[k];
    }
    c[j] += sum;
  }
}

}  // namespace

void gemm(const GemmArgs& args) {
  for (int64_t i = 0; i < args.c.rows; ++i) {
    auto* c = row<double>(args.c, i);
    if (args.write == Write::overwrite) {
      for (int64_t j = 0; j < args.c.cols; ++j) c[j] = args.bias.present() ? args.bias.as<double>()[j] : 0.0;
    }
    if (args.transpose_b == Transpose::yes) {
      multiply_row_by_transposed(args, i, c);
    } else {
      multiply_row(args, i, c);
    }
  }
}

void add(const TensorView& a, const TensorView& b, const TensorView& bias, const TensorView& out) {
  for (int64_t i = 0; i < out.rows; ++i) {
    for (int64_t j = 0; j < out.cols; ++j) {
      const auto shift = bias.present() ? bias.as<double>()[j] : 0.0;
      row<double>(out, i)[j] = row<double>(a, i)[j] + row<double>(b, i)[j] + shift;
    }
  }
}

void column_sum(const TensorView& x, const TensorView& out) {
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.cols; ++j) out.as<double>()[j] += row<double>(x, i)[j];
  }
}

void embedding(const TensorView& ids, const TensorView& table, int64_t first_id, const TensorView& out) {
  for (int64_t i = 0; i < out.rows; ++i) {
    const auto id = ids.as<int32_t>()[i] - first_id;
    const auto here = id >= 0 && id < table.rows;
    for (int64_t j = 0; j < out.cols; ++j) row<double>(out, i)[j] = here ? row<double>(table, id)[j] : 0.0;
  }
}

void embedding_backward(const TensorView& ids, const TensorView& dout, int64_t first_id,
                        const TensorView& dtable) {
  for (int64_t i = 0; i < dout.rows; ++i) {
    const auto id = ids.as<int32_t>()[i] - first_id;
    if (id < 0 || id >= dtable.rows) continue;
    for (int64_t j = 0; j < dout.cols; ++j) row<double>(dtable, id)[j] += row<double>(dout, i)[j];
  }
}

void add_positions(const TensorView& x, const TensorView& table, const RowPositions& positions,
                   const TensorView& out) {
  for (int64_t i = 0; i < x.rows; ++i) {
    const auto* shift = row<double>(table, positions.of_row(i));
    for (int64_t j = 0; j < x.cols; ++j) row<double>(out, i)[j] = row<double>(x, i)[j] + shift[j];
  }
}

void add_positions_backward(const TensorView& dout, const RowPositions& positions, const TensorView& dtable) {
  for (int64_t i = 0; i < dout.rows; ++i) {
    auto* sum = row<double>(dtable, positions.of_row(i));
    for (int64_t j = 0; j < dout.cols; ++j) sum[j] += row<double>(dout, i)[j];
  }
}

void rope(const RopeArgs& args) {
  const auto half = args.head_dim / 2;
  const auto sign = args.direction == Direction::forward ? 1.0 : -1.0;
  for (int64_t r = 0; r < args.x.rows; ++r) {
    const auto position = static_cast<double>(args.positions.of_row(r));
    const auto* x = row<double>(args.x, r);
    auto* y = row<double>(args.y, r);
    for (int64_t h = 0; h < args.heads; ++h) {
      for (int64_t i = 0; i < half; ++i) {
        const auto power = -2.0 * static_cast<double>(i) / static_cast<double>(args.head_dim);
        const auto angle = sign * position * std::pow(args.base, power);
        const auto first = x[h * args.head_dim + i];
        const auto second = x[h * args.head_dim + half + i];
        y[h * args.head_dim + i] = first * std::cos(angle) - second * std::sin(angle);
        y[h * args.head_dim + half + i] = first * std::sin(angle) + second * std::cos(angle);
      }
    }
    for (int64_t j = args.heads * args.head_dim; j < args.x.cols; ++j) y[j] = x[j];
  }
}

void fill(const TensorView& x, double value) {
  for (int64_t i = 0; i < x.rows; ++i) std::fill_n(row<double>(x, i), x.cols, value);
}

void sum_of_squares(const TensorView& x, const TensorView& out) {
  double sum = 0;
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.cols; ++j) sum += row<double>(x, i)[j] * row<double>(x, i)[j];
  }
  *out.as<double>() += sum;
}

}  // namespace galvatron::kernels::fp64
