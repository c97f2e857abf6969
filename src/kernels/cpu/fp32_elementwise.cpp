// Products, sums, look-ups and optimizers in fp32. Sums over rows are dealt by columns and sums over look-ups
// too, so that each element is summed by one thread in the order of the rows, without partial sums and
// without atomics.

#include <algorithm>
#include <cmath>

#include "kernels/cpu/fp32.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/rows.hpp"

namespace galvatron::kernels {
namespace {

constexpr int64_t cache_line = 16;  // floats

}  // namespace

void Fp32::gemm(const GemmArgs& args) {
  const auto inner = args.transpose_a == Transpose::yes ? args.a.rows : args.a.cols;
  if (args.c.elements() == 0) return;
  if (inner > 0) {
    gemm_.run(args);
  } else if (args.write == Write::overwrite) {
    fill(args.c, 0.0);
    if (args.bias.present()) {
      for (int64_t i = 0; i < args.c.rows; ++i) {
        std::copy_n(args.bias.as<float>(), args.c.cols, row<float>(args.c, i));
      }
    }
  }
}

void Fp32::add(const TensorView& a, const TensorView& b, const TensorView& bias, const TensorView& out) {
  const auto threads = threads_for(threads_, out.elements());
  if (!bias.present() && a.contiguous() && b.contiguous() && out.contiguous()) {
    parallel_shares(threads, out.elements(), cache_line, [&](int64_t begin, int64_t end, int) {
      simd_.add(a.as<float>() + begin, b.as<float>() + begin, out.as<float>() + begin, end - begin);
    });
    return;
  }
  parallel_shares(threads, out.rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const auto* left = row<float>(a, i);
      const auto* right = row<float>(b, i);
      bias.present() ? simd_.add_bias(left, right, bias.as<float>(), row<float>(out, i), out.cols)
                     : simd_.add(left, right, row<float>(out, i), out.cols);
    }
  });
}

void Fp32::column_sum(const TensorView& x, const TensorView& out) {
  constexpr int64_t stretch = 512;  // columns that stay in registers and the first-level cache
  parallel_shares(threads_for(threads_, x.elements()), x.cols, cache_line,
                  [&](int64_t begin, int64_t end, int) {
                    for (int64_t j = begin; j < end; j += stretch) {
                      const auto count = std::min(stretch, end - j);
                      std::array<float, stretch> sum{};
                      for (int64_t i = 0; i < x.rows; ++i)
                        simd_.add(sum.data(), row<float>(x, i) + j, sum.data(), count);
                      simd_.add(out.as<float>() + j, sum.data(), out.as<float>() + j, count);
                    }
                  });
}

void Fp32::embedding(const TensorView& ids, const TensorView& table, int64_t first_id,
                     const TensorView& out) {
  parallel_shares(threads_for(threads_, out.elements()), out.rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const auto id = ids.as<int32_t>()[i] - first_id;
      if (id >= 0 && id < table.rows) {
        std::copy_n(row<float>(table, id), out.cols, row<float>(out, i));
      } else {
        std::fill_n(row<float>(out, i), out.cols, 0.0F);
      }
    }
  });
}

void Fp32::embedding_backward(const TensorView& ids, const TensorView& dout, int64_t first_id,
                              const TensorView& dtable) {
  parallel_shares(threads_for(threads_, dout.elements()), dout.cols, cache_line,
                  [&](int64_t begin, int64_t end, int) {
                    for (int64_t i = 0; i < dout.rows; ++i) {
                      const auto id = ids.as<int32_t>()[i] - first_id;
                      if (id < 0 || id >= dtable.rows) continue;
                      auto* sum = row<float>(dtable, id) + begin;
                      simd_.add(sum, row<float>(dout, i) + begin, sum, end - begin);
                    }
                  });
}

void Fp32::fill(const TensorView& x, double value) {
  const auto threads = threads_for(threads_, x.elements());
  const auto rows = x.contiguous() ? 1 : x.rows;
  const auto cols = x.contiguous() ? x.elements() : x.cols;
  parallel_shares(threads, cols, cache_line, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = 0; i < rows; ++i) {
      std::fill_n(row<float>(x, i) + begin, end - begin, static_cast<float>(value));
    }
  });
}

void Fp32::adamw(const AdamWArgs& args) {
  const auto correction1 = 1.0 - std::pow(args.beta1, static_cast<double>(args.step));
  const auto correction2 = 1.0 - std::pow(args.beta2, static_cast<double>(args.step));
  AdamWNumbers numbers{};
  numbers.gradient_scale = static_cast<float>(args.gradient_scale);
  numbers.beta1 = static_cast<float>(args.beta1);
  numbers.beta2 = static_cast<float>(args.beta2);
  numbers.one_minus_beta1 = static_cast<float>(1.0 - args.beta1);
  numbers.one_minus_beta2 = static_cast<float>(1.0 - args.beta2);
  numbers.step_size = static_cast<float>(args.lr / correction1);
  numbers.inverse_root_correction2 = static_cast<float>(1.0 / std::sqrt(correction2));
  numbers.eps = static_cast<float>(args.eps);
  for (const auto& range : args.decay) {
    numbers.decay_factor = range.decays ? static_cast<float>(1.0 - args.lr * args.weight_decay) : 1.0F;
    const auto count = range.end - range.begin;
    parallel_shares(threads_for(threads_, count), count, cache_line, [&](int64_t begin, int64_t end, int) {
      const auto first = range.begin + begin;
      simd_.adamw(args.parameter.as<float>() + first, args.gradient.as<float>() + first,
                  args.exp_avg.as<float>() + first, args.exp_avg_sq.as<float>() + first, end - begin,
                  numbers);
    });
  }
}

void Fp32::sgd(const TensorView& parameter, const TensorView& gradient, double lr, double gradient_scale) {
  const auto count = parameter.elements();
  parallel_shares(threads_for(threads_, count), count, cache_line, [&](int64_t begin, int64_t end, int) {
    simd_.sgd(parameter.as<float>() + begin, gradient.as<float>() + begin, end - begin,
              static_cast<float>(lr * gradient_scale));
  });
}

void Fp32::sum_of_squares(const TensorView& x, const TensorView& out) {
  const auto threads = threads_for(threads_, x.elements());
  if (x.contiguous()) {
    *out.as<double>() += ordered_sum(threads, x.elements(), 4096, [&](int64_t begin, int64_t end) {
      return simd_.sum_of_squares(x.as<float>() + begin, end - begin);
    });
    return;
  }
  *out.as<double>() += ordered_sum(threads, x.rows, 1, [&](int64_t begin, int64_t end) {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += simd_.sum_of_squares(row<float>(x, i), x.cols);
    return sum;
  });
}

}  // namespace galvatron::kernels
