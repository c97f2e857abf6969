// Where a token stands in its sample, in fp32: learned positions and rotary ones. Work is dealt by
// coordinate, because all samples share what belongs to a position.

#include <algorithm>
#include <array>
#include <cmath>

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

}  // namespace

void Fp32::add_positions(const TensorView& x, const TensorView& table, const RowPositions& positions,
                         const TensorView& out) {
  parallel_shares(threads_for(threads_, x.elements()), x.rows, 1, [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; ++i) {
      simd_.add(row<float>(x, i), row<float>(table, positions.of_row(i)), row<float>(out, i), x.cols);
    }
  });
}

void Fp32::add_positions_backward(const TensorView& dout, const RowPositions& positions,
                                  const TensorView& dtable) {
  over_positions(threads_for(threads_, dout.elements()), positions, [&](int64_t position, int64_t first) {
    auto* sum = row<float>(dtable, position);
    for (int64_t s = 0; s < positions.samples; ++s)
      simd_.add(sum, row<float>(dout, first + s * positions.length), sum, dout.cols);
  });
}

void Fp32::rope(const RopeArgs& args) {
  constexpr int64_t stretch = 128;  // pairs whose cosines and sines stay in the first-level cache
  const auto half = args.head_dim / 2;
  const auto turned = args.heads * args.head_dim;
  const auto sign = args.direction == Direction::forward ? 1.0 : -1.0;
  const auto rotate = [&](int64_t i, int64_t begin, int64_t count, const float* cosine, const float* sine) {
    for (int64_t h = 0; h < args.heads; ++h) {
      const auto at = h * args.head_dim + begin;
      const auto* x = row<float>(args.x, i) + at;
      auto* y = row<float>(args.y, i) + at;
      simd_.rotate(x, x + half, cosine, sine, y, y + half, count);
    }
  };
  for (int64_t begin = 0; begin < half; begin += stretch) {
    const auto count = std::min(stretch, half - begin);
    std::array<double, stretch> frequency{};
    for (int64_t i = 0; i < count; ++i) {
      const auto power = -2.0 * static_cast<double>(begin + i) / static_cast<double>(args.head_dim);
      frequency[static_cast<size_t>(i)] = sign * std::pow(args.base, power);
    }
    over_positions(threads_for(threads_, args.x.elements()), args.positions,
                   [&](int64_t position, int64_t first) {
                     std::array<float, stretch> cosine, sine;
                     for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
                       const auto angle = static_cast<double>(position) * frequency[i];
                       cosine[i] = static_cast<float>(std::cos(angle));
                       sine[i] = static_cast<float>(std::sin(angle));
                     }
                     for (int64_t s = 0; s < args.positions.samples; ++s)
                       rotate(first + s * args.positions.length, begin, count, cosine.data(), sine.data());
                   });
  }
  if (args.y.data == args.x.data || turned == args.x.cols) return;
  for (int64_t i = 0; i < args.x.rows; ++i)
    std::copy_n(row<float>(args.x, i) + turned, args.x.cols - turned, row<float>(args.y, i) + turned);
}

}  // namespace galvatron::kernels
