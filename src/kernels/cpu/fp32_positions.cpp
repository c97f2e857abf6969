// Where a token stands in its sample: learned positions and rotary ones. Work is dealt by
// coordinate, because all samples share what belongs to a position.

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/fp32.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/rows.hpp"

namespace galvatron::kernels {
namespace {

/// body(position, first row): sample s of that position is in row first + s · length.
template <class Body>
void over_positions(int threads, const RowPositions& p, Body body) {
  parallel_shares(threads, p.pieces * p.length, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t j = begin; j < end; ++j) {
      const auto piece = j / p.length;
      body(p.of_coordinate(p.begin + j), piece * p.samples * p.length + j % p.length);
    }
  });
}

constexpr int64_t stretch = 128;  // pairs whose cosines and sines stay in the first-level cache

/// A stretch of the pairs of every head.
struct Pairs {
  int64_t begin, count;
};

/// Turns these pairs of all heads in all rows. `frequency` carries the direction as its sign.
template <class T>
void rotate_pairs(const ElementTable<T>& loops, int threads, const RopeArgs& args, const Pairs& pairs,
                  const double* frequency) {
  over_positions(threads, args.positions, [&](int64_t position, int64_t first) {
    std::array<float, stretch> cosine, sine;
    for (int64_t i = 0; i < pairs.count; ++i) {
      const auto angle = static_cast<double>(position) * frequency[i];
      cosine[static_cast<size_t>(i)] = static_cast<float>(std::cos(angle));
      sine[static_cast<size_t>(i)] = static_cast<float>(std::sin(angle));
    }
    const auto half = args.head_dim / 2;
    for (int64_t s = 0; s < args.positions.samples; ++s) {
      const auto i = first + s * args.positions.length;
      for (int64_t h = 0; h < args.heads; ++h) {
        const auto at = h * args.head_dim + pairs.begin;
        const auto* x = row<T>(args.x, i) + at;
        auto* y = row<T>(args.y, i) + at;
        loops.rotate(x, x + half, cosine.data(), sine.data(), y, y + half, pairs.count);
      }
    }
  });
}

}  // namespace

void Fp32::add_positions(const TensorView& x, const TensorView& table, const RowPositions& positions,
                         const TensorView& out) {
  by_element(x.dtype, [&]<class T>() {
    parallel_shares(threads_for(threads_, x.elements()), x.rows, 1, [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i) {
        loops_for<T>(simd_).add(row<T>(x, i), row<T>(table, positions.of_row(i)), row<T>(out, i), x.cols);
      }
    });
  });
}

void Fp32::add_positions_backward(const TensorView& dout, const RowPositions& positions,
                                  const TensorView& dtable) {
  by_element(dout.dtype, [&]<class T>() {
    over_positions(threads_for(threads_, dout.elements()), positions, [&](int64_t position, int64_t first) {
      for (int64_t s = 0; s < positions.samples; ++s)
        loops_for<T>(simd_).accumulate(row<T>(dout, first + s * positions.length),
                                       row<float>(dtable, position), dout.cols);
    });
  });
}

void Fp32::rope(const RopeArgs& args) {
  const auto half = args.head_dim / 2;
  const auto sign = args.direction == Direction::forward ? 1.0 : -1.0;
  const auto threads = threads_for(threads_, args.x.elements());
  for (int64_t begin = 0; begin < half; begin += stretch) {
    const Pairs pairs{begin, std::min(stretch, half - begin)};
    std::array<double, stretch> frequency{};
    for (int64_t i = 0; i < pairs.count; ++i) {
      const auto power = -2.0 * static_cast<double>(begin + i) / static_cast<double>(args.head_dim);
      frequency[static_cast<size_t>(i)] = sign * std::pow(args.base, power);
    }
    by_element(args.x.dtype, [&]<class T>() {
      rotate_pairs<T>(loops_for<T>(simd_), threads, args, pairs, frequency.data());
    });
  }
  const auto turned = args.heads * args.head_dim;
  if (args.y.data == args.x.data || turned == args.x.cols) return;
  by_element(args.x.dtype, [&]<class T>() {
    parallel_shares(threads, args.x.rows, 1, [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i)
        std::copy_n(row<T>(args.x, i) + turned, args.x.cols - turned, row<T>(args.y, i) + turned);
    });
  });
}

}  // namespace galvatron::kernels
