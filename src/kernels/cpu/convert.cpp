// Conversions dealt to threads by elements where there are no gaps, by rows where there are.

#include "kernels/cpu/convert.hpp"

#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/rows.hpp"

namespace galvatron::kernels {
namespace {

template <class From, class To>
void convert_rows(int threads, const device::TensorView& from, const device::TensorView& to,
                  void (*loop)(const From*, To*, int64_t)) {
  threads = threads_for(threads, from.elements());
  if (from.contiguous() && to.contiguous()) {
    parallel_shares(threads, from.elements(), 64, [&](int64_t begin, int64_t end, int) {
      loop(from.as<From>() + begin, to.as<To>() + begin, end - begin);
    });
    return;
  }
  parallel_shares(threads, from.rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) loop(row<From>(from, i), row<To>(to, i), from.cols);
  });
}

}  // namespace

void convert(const Simd& simd, int threads, const device::TensorView& from, const device::TensorView& to) {
  if (to.dtype == core::DType::f32) {
    by_element(from.dtype, [&]<class T>() { convert_rows(threads, from, to, loops_for<T>(simd).widen); });
  } else {
    GALV_ASSERT(from.dtype == core::DType::f32);
    by_element(to.dtype, [&]<class T>() { convert_rows(threads, from, to, loops_for<T>(simd).narrow); });
  }
}

}  // namespace galvatron::kernels
