// A block that stays in the first-level cache is summed over all parts before the next one starts: each part
// is read once, the result is written once, and writing after reading makes it harmless that the result lies
// on one of the parts.
#include "comm/reduction.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/half.hpp"

namespace galvatron::comm {
namespace {

constexpr int64_t block = 1024;

template <class T>
void add(T* __restrict sum, const T* __restrict part, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sum[i] += part[i];
}

template <class T>
void take_greater(T* __restrict greatest, const T* __restrict part, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const bool keep = greatest[i] > part[i] || greatest[i] != greatest[i];  // a NaN stays
    greatest[i] = keep ? greatest[i] : part[i];
  }
}

/// `part` as it is.
template <class T>
struct Plain {
  using Element = T;
  using Sum = T;
  static Sum widen(Element element) { return element; }
  static Element round(Sum sum) { return sum; }
};

/// bf16 and f16 are added in f32, so that many members do not lose what one rounding keeps.
struct Bf16 {
  using Element = uint16_t;
  using Sum = float;
  static Sum widen(Element element) { return core::bf16_to_f32(element); }
  static Element round(Sum sum) { return core::f32_to_bf16(sum); }
};

struct F16 {
  using Element = uint16_t;
  using Sum = float;
  static Sum widen(Element element) { return core::f16_to_f32(element); }
  static Element round(Sum sum) { return core::f32_to_f16(sum); }
};

template <class Format>
void widen(typename Format::Sum* __restrict out, const typename Format::Element* __restrict in,
           int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = Format::widen(in[i]);
}

template <class Format>
void round(typename Format::Element* __restrict out, const typename Format::Sum* __restrict in,
           int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = Format::round(in[i]);
}

template <class T>
void combine(T* partial, const T* part, int64_t count, ReduceOp op) {
  if (op == ReduceOp::sum) {
    add(partial, part, count);
  } else {
    take_greater(partial, part, count);
  }
}

template <class Format>
void reduce(std::span<const std::byte* const> parts, std::byte* out, int64_t count, ReduceOp op) {
  using Element = typename Format::Element;
  using Sum = typename Format::Sum;
  std::array<Sum, block> partial, widened;
  for (int64_t begin = 0; begin < count; begin += block) {
    const auto n = std::min(block, count - begin);
    const auto part = [&](size_t p) { return reinterpret_cast<const Element*>(parts[p]) + begin; };
    widen<Format>(partial.data(), part(0), n);
    for (size_t p = 1; p < parts.size(); ++p) {
      if constexpr (std::is_same_v<Element, Sum>) {
        combine(partial.data(), part(p), n, op);
      } else {
        widen<Format>(widened.data(), part(p), n);
        combine(partial.data(), widened.data(), n, op);
      }
    }
    round<Format>(reinterpret_cast<Element*>(out) + begin, partial.data(), n);
  }
}

}  // namespace

void reduce_in_order(std::span<const std::byte* const> parts, std::byte* out, int64_t count,
                     core::DType dtype, ReduceOp op) {
  switch (dtype) {
    case core::DType::f32:
      return reduce<Plain<float>>(parts, out, count, op);
    case core::DType::f64:
      return reduce<Plain<double>>(parts, out, count, op);
    case core::DType::bf16:
      return reduce<Bf16>(parts, out, count, op);
    case core::DType::f16:
      return reduce<F16>(parts, out, count, op);
    default:
      throw core::InternalError(core::format("cannot reduce {}", core::name(dtype)));
  }
}

}  // namespace galvatron::comm
