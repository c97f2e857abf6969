#pragma once
// A place to run one kernel call in any element type, on any device and thread count: the same seed gives the
// same operands, so what two workbenches compute can be compared. Columns beyond a view are guarded: whoever
// writes there is found out.

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/backends.hpp"
#include "kernels/cpu/simd/simd.hpp"
#include "kernels/kernels.hpp"
#include "parity/kernels/sixteen_bits.hpp"

namespace galvatron::kernels::test {

using core::DType;
using device::DeviceKind;

struct Result {
  std::string name;
  DType dtype;
  std::vector<double> values;
};

class Workbench {
 public:
  /// The values of inputs are exact in `exact` (f32, bf16 or f16) whatever the element type.
  Workbench(DeviceKind kind, DType dtype, int threads, DType exact = DType::f32)
      : device_(device::make_device(kind)),
        stream_(device_->make_stream()),
        kernels_(make_kernels(*device_, threads)),
        dtype_(dtype),
        exact_(exact) {}

  /// With kernels that work on the cpu's memory.
  Workbench(std::unique_ptr<Kernels> kernels, DType dtype, DType exact = DType::f32)
      : device_(device::make_device(DeviceKind::cpu)),
        stream_(device_->make_stream()),
        kernels_(std::move(kernels)),
        dtype_(dtype),
        exact_(exact) {}

  /// On the cpu with the inner loops of one instruction-set level.
  Workbench(const Simd& simd, DType dtype, int threads, DType exact = DType::f32)
      : Workbench(make_cpu_kernels(threads, simd), dtype, exact) {}

  Kernels& kernels() { return *kernels_; }
  Stream& stream() { return *stream_; }
  DType dtype() const { return dtype_; }
  /// The type that sums are kept in.
  DType sums() const { return dtype_ == DType::f64 ? DType::f64 : DType::f32; }

  /// Uniform in ±spread; rows are `gap` elements apart.
  TensorView input(int64_t rows, int64_t cols, double spread = 1.0, int64_t gap = 0) {
    return random(dtype_, rows, cols, spread, gap);
  }

  /// The same in the type of sums.
  TensorView input_sums(int64_t rows, int64_t cols, double spread = 1.0, int64_t gap = 0) {
    return random(sums(), rows, cols, spread, gap);
  }

  /// Holds NaN, so that what is not overwritten shows.
  TensorView output(int64_t rows, int64_t cols, int64_t gap = 0) {
    return filled(dtype_, rows, cols, std::numeric_limits<double>::quiet_NaN(), gap);
  }

  /// The same in the type of sums.
  TensorView output_sums(int64_t rows, int64_t cols, int64_t gap = 0) {
    return filled(sums(), rows, cols, std::numeric_limits<double>::quiet_NaN(), gap);
  }

  TensorView filled(DType dtype, int64_t rows, int64_t cols, double value, int64_t gap = 0) {
    const auto view = make(dtype, rows, cols, gap);
    each(view, [&](int64_t, int64_t) { return value; });
    return view;
  }

  /// i32 (1 × count), uniform in [low, high].
  TensorView ids(int64_t count, int32_t low, int32_t high) {
    const auto view = make(DType::i32, 1, count, 0);
    std::uniform_int_distribution<int32_t> random(low, high);
    for (int64_t i = 0; i < count; ++i) {
      const auto id = random(random_);
      if (view.data) view.as<int32_t>()[i] = id;
    }
    return view;
  }

  TensorView scratch(int64_t bytes) {
    if (bytes == 0) return {};
    const auto view = make(DType::u8, 1, bytes, 0);
    for (int64_t i = 0; view.data && i < bytes; ++i) view.data[i] = std::byte{0xff};  // NaN in every float
    return view;
  }

  void result(const std::string& name, const TensorView& view) {
    results_.push_back({name, view.dtype, values(view)});
  }
  const std::vector<Result>& results() const { return results_; }

  std::vector<double> values(const TensorView& view) const {
    std::vector<double> out;
    if (!view.data) return out;
    stream_->synchronize();
    for (int64_t i = 0; i < view.rows; ++i)
      for (int64_t j = 0; j < view.cols; ++j) out.push_back(get(view, i, j));
    return out;
  }

  static double get(const TensorView& view, int64_t i, int64_t j) {
    const auto at = i * view.row_stride + j;
    if (view.dtype == DType::f32) return static_cast<double>(view.as<float>()[at]);
    if (view.dtype == DType::f64) return view.as<double>()[at];
    return sixteen_bits(view.dtype).decode(view.as<uint16_t>()[at]);
  }

  static void set(const TensorView& view, int64_t i, int64_t j, double value) {
    const auto at = i * view.row_stride + j;
    if (view.dtype == DType::f32) {
      view.as<float>()[at] = static_cast<float>(value);
    } else if (view.dtype == DType::f64) {
      view.as<double>()[at] = value;
    } else {
      view.as<uint16_t>()[at] = sixteen_bits(view.dtype).encode(value);
    }
  }

  /// Names the first guard element that was overwritten.
  void expect_guards_intact() const {
    stream_->synchronize();
    for (const auto& view : guarded_) {
      for (int64_t i = 0; i + 1 < view.rows; ++i) {
        for (int64_t j = view.cols; j < view.row_stride; ++j) {
          ASSERT_EQ(get(view, i, j), guard) << "written beyond column " << view.cols << " of row " << i;
        }
      }
    }
  }

 private:
  static constexpr double guard = 12288.0;  // exact in every type

  /// Beside a CUDA device: memory of the host that its kernels reach.
  std::byte* allocate(int64_t bytes) {
    return device_->kind() == DeviceKind::cuda ? host_buffers_.emplace_back(*device_, bytes).data()
                                               : buffers_.emplace_back(*device_, bytes).data();
  }

  TensorView make(DType dtype, int64_t rows, int64_t cols, int64_t gap) {
    const TensorView view{allocate(rows * (cols + gap) * core::size_of(dtype) + 64), dtype, rows, cols,
                          cols + gap};
    if (view.data && gap > 0) {
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = cols; j < cols + gap; ++j) set(view, i, j, guard);
      guarded_.push_back(view);
    }
    return view;
  }

  TensorView random(DType dtype, int64_t rows, int64_t cols, double spread, int64_t gap) {
    const auto view = make(dtype, rows, cols, gap);
    std::uniform_real_distribution<float> number(static_cast<float>(-spread), static_cast<float>(spread));
    each(view, [&](int64_t, int64_t) {
      const auto value = static_cast<double>(number(random_));
      return exact_ == DType::f32 ? value : sixteen_bits(exact_).decode(sixteen_bits(exact_).encode(value));
    });
    return view;
  }

  template <class Value>
  void each(const TensorView& view, Value value) {
    for (int64_t i = 0; i < view.rows; ++i) {
      for (int64_t j = 0; j < view.cols; ++j) {
        const auto number = value(i, j);
        if (view.data) set(view, i, j, number);
      }
    }
  }

  std::unique_ptr<device::Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Kernels> kernels_;
  DType dtype_;
  DType exact_ = DType::f32;
  std::mt19937_64 random_{20260607};
  std::deque<device::Buffer> buffers_;
  std::deque<device::HostBuffer> host_buffers_;
  std::vector<TensorView> guarded_;
  std::vector<Result> results_;
};

}  // namespace galvatron::kernels::test
