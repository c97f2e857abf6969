// A sleep that ends late is made up for by the next one that begins at once: what waking costs does not add
// up.
#include "bench/accuracy/paced_kernels.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "device/device.hpp"

namespace galvatron::bench {
namespace {

using namespace kernels;
using core::ActivationKind;

class PacedKernels final : public Kernels {
 public:
  explicit PacedKernels(const Pace& pace)
      : pace_(pace), host_(device::make_device(device::DeviceKind::dry)), dry_(make_kernels(*host_, 1)) {}

  void gemm(Stream& s, const GemmArgs& a) override {
    dry_->gemm(s, a);
    const auto inner = a.transpose_a == Transpose::no ? a.a.cols : a.a.rows;
    last(2.0 * static_cast<double>(a.c.rows) * static_cast<double>(a.c.cols) * static_cast<double>(inner));
  }
  void attention(Stream& s, const AttentionArgs& a) override {
    dry_->attention(s, a);
    last(0);
  }
  void attention_backward(Stream& s, const AttentionBackwardArgs& a) override {
    dry_->attention_backward(s, a);
    last(0);
  }
  void norm(Stream& s, const NormArgs& a) override { dry_->norm(s, a); }
  void norm_backward(Stream& s, const NormBackwardArgs& a) override { dry_->norm_backward(s, a); }
  void activation(Stream& s, ActivationKind kind, TensorView x, TensorView y) override {
    dry_->activation(s, kind, x, y);
  }
  void activation_backward(Stream& s, ActivationKind kind, TensorView x, TensorView dy,
                           TensorView dx) override {
    dry_->activation_backward(s, kind, x, dy, dx);
  }
  void add(Stream& s, TensorView a, TensorView b, TensorView bias, TensorView out) override {
    dry_->add(s, a, b, bias, out);
  }
  void column_sum(Stream& s, TensorView x, TensorView out) override { dry_->column_sum(s, x, out); }
  void embedding(Stream& s, TensorView ids, TensorView table, int64_t first, TensorView out) override {
    dry_->embedding(s, ids, table, first, out);
  }
  void embedding_backward(Stream& s, TensorView ids, TensorView dout, int64_t first,
                          TensorView dtable) override {
    dry_->embedding_backward(s, ids, dout, first, dtable);
  }
  void add_positions(Stream& s, TensorView x, TensorView table, const RowPositions& positions,
                     TensorView out) override {
    dry_->add_positions(s, x, table, positions, out);
  }
  void add_positions_backward(Stream& s, TensorView dout, const RowPositions& positions,
                              TensorView dtable) override {
    dry_->add_positions_backward(s, dout, positions, dtable);
  }
  void rope(Stream& s, const RopeArgs& a) override { dry_->rope(s, a); }
  void cross_entropy(Stream& s, const CrossEntropyArgs& a) override { dry_->cross_entropy(s, a); }
  void fill(Stream& s, TensorView x, double value) override { dry_->fill(s, x, value); }
  void copy(Stream& s, TensorView from, TensorView to) override { dry_->copy(s, from, to); }
  void adamw(Stream& s, const AdamWArgs& a) override { dry_->adamw(s, a); }
  void sgd(Stream& s, TensorView parameter, TensorView gradient, TensorView working, double lr,
           double gradient_scale) override {
    dry_->sgd(s, parameter, gradient, working, lr, gradient_scale);
  }
  void sum_of_squares(Stream& s, TensorView x, TensorView out) override { dry_->sum_of_squares(s, x, out); }

  int64_t gemm_workspace_bytes(const GemmArgs& a) override { return dry_->gemm_workspace_bytes(a); }
  int64_t norm_backward_workspace_bytes(const NormBackwardArgs& a) override {
    return dry_->norm_backward_workspace_bytes(a);
  }
  int64_t attention_workspace_bytes(const AttentionArgs& a) override {
    return dry_->attention_workspace_bytes(a);
  }
  int64_t attention_backward_workspace_bytes(const AttentionBackwardArgs& a) override {
    return dry_->attention_backward_workspace_bytes(a);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void last(double flops) {
    constexpr auto at_once = std::chrono::milliseconds(3);
    const auto now = Clock::now();
    const auto begin = now - ended_ < at_once ? ended_ : now;
    const double seconds = std::max(pace_.least_seconds, flops * pace_.seconds_per_flop);
    ended_ = begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::this_thread::sleep_until(ended_);
  }

  Pace pace_;
  std::unique_ptr<device::Device> host_;
  std::unique_ptr<Kernels> dry_;
  Clock::time_point ended_{};
};

}  // namespace

std::unique_ptr<kernels::Kernels> make_paced_kernels(const Pace& pace) {
  return std::make_unique<PacedKernels>(pace);
}

}  // namespace galvatron::bench
