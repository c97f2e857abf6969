// Sums, look-ups and constants. Sums over rows are dealt by columns and sums over look-ups too, so that each
// element is summed by one thread in the order of the rows, without partial sums and without atomics.

#include <algorithm>
#include <array>

#include "kernels/cpu/convert.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/fp32.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/rows.hpp"

namespace galvatron::kernels {
namespace {

template <class T>
void add_rows(const ElementTable<T>& loops, int threads, const TensorView& a, const TensorView& b,
              const TensorView& bias, const TensorView& out) {
  if (!bias.present() && a.contiguous() && b.contiguous() && out.contiguous()) {
    parallel_shares(threads, out.elements(), cache_line, [&](int64_t begin, int64_t end, int) {
      loops.add(a.as<T>() + begin, b.as<T>() + begin, out.as<T>() + begin, end - begin);
    });
    return;
  }
  parallel_shares(threads, out.rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      bias.present() ? loops.add_bias(row<T>(a, i), row<T>(b, i), bias.as<T>(), row<T>(out, i), out.cols)
                     : loops.add(row<T>(a, i), row<T>(b, i), row<T>(out, i), out.cols);
    }
  });
}

template <class T>
void sum_columns(const Simd& simd, const TensorView& x, float* out, int64_t begin, int64_t end) {
  constexpr int64_t stretch = 512;  // columns that stay in registers and the first-level cache
  for (int64_t j = begin; j < end; j += stretch) {
    const auto count = std::min(stretch, end - j);
    std::array<float, stretch> sum{};
    for (int64_t i = 0; i < x.rows; ++i) loops_for<T>(simd).accumulate(row<T>(x, i) + j, sum.data(), count);
    simd.f32.accumulate(sum.data(), out + j, count);
  }
}

}  // namespace

void Fp32::add(const TensorView& a, const TensorView& b, const TensorView& bias, const TensorView& out) {
  by_element(out.dtype, [&]<class T>() {
    add_rows<T>(loops_for<T>(simd_), threads_for(threads_, out.elements()), a, b, bias, out);
  });
}

void Fp32::column_sum(const TensorView& x, const TensorView& out) {
  by_element(x.dtype, [&]<class T>() {
    parallel_shares(
        threads_for(threads_, x.elements()), x.cols, cache_line,
        [&](int64_t begin, int64_t end, int) { sum_columns<T>(simd_, x, out.as<float>(), begin, end); });
  });
}

void Fp32::embedding(const TensorView& ids, const TensorView& table, int64_t first_id,
                     const TensorView& out) {
  by_element(out.dtype, [&]<class T>() {
    parallel_shares(threads_for(threads_, out.elements()), out.rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const auto id = ids.as<int32_t>()[i] - first_id;
        if (id >= 0 && id < table.rows) {
          std::copy_n(row<T>(table, id), out.cols, row<T>(out, i));
        } else {
          std::fill_n(row<T>(out, i), out.cols, T{});
        }
      }
    });
  });
}

void Fp32::embedding_backward(const TensorView& ids, const TensorView& dout, int64_t first_id,
                              const TensorView& dtable) {
  by_element(dout.dtype, [&]<class T>() {
    parallel_shares(threads_for(threads_, dout.elements()), dout.cols, cache_line,
                    [&](int64_t begin, int64_t end, int) {
                      for (int64_t i = 0; i < dout.rows; ++i) {
                        const auto id = ids.as<int32_t>()[i] - first_id;
                        if (id < 0 || id >= dtable.rows) continue;
                        loops_for<T>(simd_).accumulate(row<T>(dout, i) + begin,
                                                       row<float>(dtable, id) + begin, end - begin);
                      }
                    });
  });
}

void Fp32::fill(const TensorView& x, double value) {
  const auto threads = threads_for(threads_, x.elements());
  const auto rows = x.contiguous() ? 1 : x.rows;
  const auto cols = x.contiguous() ? x.elements() : x.cols;
  by_element(x.dtype, [&]<class T>() {
    const auto single = static_cast<float>(value);
    T element{};
    loops_for<T>(simd_).narrow(&single, &element, 1);
    parallel_shares(threads, cols, cache_line, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = 0; i < rows; ++i) std::fill_n(row<T>(x, i) + begin, end - begin, element);
    });
  });
}

void Fp32::convert(const TensorView& from, const TensorView& to) {
  kernels::convert(simd_, threads_, from, to);
}

}  // namespace galvatron::kernels
