#pragma once
// The rows of one head on their way into packed fp32 blocks and back: rows of a fused q/k/v matrix lie far
// apart, their elements may have 16 bits, and the products want fp32, some of it by dim.

#include "kernels/cpu/simd/elements.hpp"
#include "kernels/cpu/simd/math.hpp"
#include "kernels/cpu/simd/tile.hpp"

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {

constexpr int64_t block = attention_block;

inline int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/// The rows of consecutive positions, without a division for each.
class RowWalk {
 public:
  RowWalk(const HeadTokens& t, int64_t first)
      : row_(first / t.piece * t.samples * t.piece + t.sample * t.piece + first % t.piece),
        left_(t.piece - first % t.piece),
        piece_(t.piece),
        jump_((t.samples - 1) * t.piece) {}

  int64_t next() {
    const auto row = row_++;
    if (--left_ == 0) {
      row_ += jump_;
      left_ = piece_;
    }
    return row;
  }

 private:
  int64_t row_, left_, piece_, jump_;
};

inline Vector load(const float* from) {
  return *reinterpret_cast<const Vector*>(from);
}
inline void store(float* to, Vector value) {
  *reinterpret_cast<Vector*>(to) = value;
}
inline Vector exponential(Vector x) {
  return exp_of<Vector, BitsVector>(x);
}

/// Positions [first, first + count) of one head.
struct Positions {
  const HeadTokens* tokens;
  int64_t first, count;
};

/// The same rows from a later column on.
inline HeadInput columns(const HeadInput& from, int64_t begin) {
  const void* data = nullptr;
  with_element(from.element, from.data, [&](const auto* first) { data = first + begin; });
  return {data, from.stride, from.element};
}

/// Asks for the first elements of a row in good time.
template <class T>
inline void fetch_row(const T* row, int64_t count) {
  constexpr int64_t in_line = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < count; i += in_line) __builtin_prefetch(row + i, 0, 2);
}

/// to (count × padded head_dim) := factor · rows, zeros beyond head_dim.
inline void pack_rows(const Positions& p, const HeadInput& from, float factor, float* to) {
  const auto head_dim = p.tokens->head_dim;
  const auto width = padded(head_dim);
  with_element(from.element, from.data, [&](const auto* data) {
    constexpr int64_t distance = 12;
    RowWalk rows(*p.tokens, p.first);
    RowWalk ahead(*p.tokens, p.first + distance);
    for (int64_t i = 0; i < p.count; ++i) {
      const auto* source = data + rows.next() * from.stride;
      float* target = to + i * width;
      if (i + distance < p.count) fetch_row(data + ahead.next() * from.stride, head_dim);
#pragma omp simd
      for (int64_t d = 0; d < head_dim; ++d) target[d] = factor * widen(source[d]);
      for (int64_t d = head_dim; d < width; ++d) target[d] = 0.0F;
    }
  });
}

/// Four numbers, which every processor transposes in registers.
using Four = float __attribute__((vector_size(16), aligned(4), may_alias));
using FourIndices = int32_t __attribute__((vector_size(16)));

inline void transpose_four(const Four (&row)[4], float* to, int64_t stride) {
  const auto low01 = __builtin_shuffle(row[0], row[1], FourIndices{0, 4, 1, 5});
  const auto low23 = __builtin_shuffle(row[2], row[3], FourIndices{0, 4, 1, 5});
  const auto high01 = __builtin_shuffle(row[0], row[1], FourIndices{2, 6, 3, 7});
  const auto high23 = __builtin_shuffle(row[2], row[3], FourIndices{2, 6, 3, 7});
  const Four columns[] = {__builtin_shuffle(low01, low23, FourIndices{0, 1, 4, 5}),
                          __builtin_shuffle(low01, low23, FourIndices{2, 3, 6, 7}),
                          __builtin_shuffle(high01, high23, FourIndices{0, 1, 4, 5}),
                          __builtin_shuffle(high01, high23, FourIndices{2, 3, 6, 7})};
  for (int64_t i = 0; i < 4; ++i) *reinterpret_cast<Four*>(to + i * stride) = columns[i];
}

/// to (padded head_dim × block) := the columns of packed rows, zeros beyond the last up to whole tiles.
inline void transpose(const float* from, int64_t count, int64_t width, float* to) {
  for (int64_t i = 0; i < padded(count); i += 4) {
    for (int64_t d = 0; d < width; d += 4) {
      Four row[4];
      for (int64_t l = 0; l < 4; ++l) {
        row[l] = i + l < count ? *reinterpret_cast<const Four*>(from + (i + l) * width + d) : Four{};
      }
      transpose_four(row, to + d * block + i, block);
    }
  }
}

/// Asks for all of the rows: they lie too far apart for the processor to see them coming.
inline void fetch_rows(const Positions& p, const HeadInput& from) {
  with_element(from.element, from.data, [&](const auto* data) {
    RowWalk rows(*p.tokens, p.first);
    for (int64_t i = 0; i < p.count; ++i) fetch_row(data + rows.next() * from.stride, p.tokens->head_dim);
  });
}

/// rows of the matrix := (or, accumulating, +=) factor · those of a packed block.
inline void unpack_rows(const Positions& p, const float* from, float factor, Store mode,
                        const HeadOutput& to) {
  const auto width = padded(p.tokens->head_dim);
  with_element(to.element, to.data, [&](auto* data) {
    RowWalk rows(*p.tokens, p.first);
    for (int64_t i = 0; i < p.count; ++i) {
      const float* source = from + i * width;
      auto* target = data + rows.next() * to.stride;
      if (mode == Store::accumulate) {
#pragma omp simd
        for (int64_t d = 0; d < p.tokens->head_dim; ++d)
          narrow(widen(target[d]) + factor * source[d], target[d]);
      } else {
#pragma omp simd
        for (int64_t d = 0; d < p.tokens->head_dim; ++d) narrow(factor * source[d], target[d]);
      }
    }
  });
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
