// Every call opens the far memory, computes with the CPU's kernels, and closes it again.

#include "support/far_device.hpp"

namespace galvatron::test {
namespace {

using namespace kernels;
using core::ActivationKind;

class FarKernels final : public Kernels {
 public:
  FarKernels(FarDevice& far, int threads)
      : far_(far), host_(device::make_device(device::DeviceKind::cpu)), cpu_(make_kernels(*host_, threads)) {}

  void gemm(Stream& s, const GemmArgs& a) override {
    play([&] { cpu_->gemm(s, a); });
  }
  void norm(Stream& s, const NormArgs& a) override {
    play([&] { cpu_->norm(s, a); });
  }
  void norm_backward(Stream& s, const NormBackwardArgs& a) override {
    play([&] { cpu_->norm_backward(s, a); });
  }
  void activation(Stream& s, ActivationKind kind, TensorView x, TensorView y) override {
    play([&] { cpu_->activation(s, kind, x, y); });
  }
  void activation_backward(Stream& s, ActivationKind kind, TensorView x, TensorView dy,
                           TensorView dx) override {
    play([&] { cpu_->activation_backward(s, kind, x, dy, dx); });
  }
  void attention(Stream& s, const AttentionArgs& a) override {
    play([&] { cpu_->attention(s, a); });
  }
  void attention_backward(Stream& s, const AttentionBackwardArgs& a) override {
    play([&] { cpu_->attention_backward(s, a); });
  }
  void add(Stream& s, TensorView a, TensorView b, TensorView bias, TensorView out) override {
    play([&] { cpu_->add(s, a, b, bias, out); });
  }
  void column_sum(Stream& s, TensorView x, TensorView out) override {
    play([&] { cpu_->column_sum(s, x, out); });
  }
  void embedding(Stream& s, TensorView ids, TensorView table, int64_t first, TensorView out) override {
    play([&] { cpu_->embedding(s, ids, table, first, out); });
  }
  void embedding_backward(Stream& s, TensorView ids, TensorView dout, int64_t first,
                          TensorView dtable) override {
    play([&] { cpu_->embedding_backward(s, ids, dout, first, dtable); });
  }
  void add_positions(Stream& s, TensorView x, TensorView table, const RowPositions& positions,
                     TensorView out) override {
    play([&] { cpu_->add_positions(s, x, table, positions, out); });
  }
  void add_positions_backward(Stream& s, TensorView dout, const RowPositions& positions,
                              TensorView dtable) override {
    play([&] { cpu_->add_positions_backward(s, dout, positions, dtable); });
  }
  void rope(Stream& s, const RopeArgs& a) override {
    play([&] { cpu_->rope(s, a); });
  }
  void cross_entropy(Stream& s, const CrossEntropyArgs& a) override {
    play([&] { cpu_->cross_entropy(s, a); });
  }
  void fill(Stream& s, TensorView x, double value) override {
    play([&] { cpu_->fill(s, x, value); });
  }
  void copy(Stream& s, TensorView from, TensorView to) override {
    play([&] { cpu_->copy(s, from, to); });
  }
  void adamw(Stream& s, const AdamWArgs& a) override {
    play([&] { cpu_->adamw(s, a); });
  }
  void sgd(Stream& s, TensorView parameter, TensorView gradient, TensorView working, double lr,
           double gradient_scale) override {
    play([&] { cpu_->sgd(s, parameter, gradient, working, lr, gradient_scale); });
  }
  void sum_of_squares(Stream& s, TensorView x, TensorView out) override {
    play([&] { cpu_->sum_of_squares(s, x, out); });
  }
  int64_t gemm_workspace_bytes(const GemmArgs& a) override { return cpu_->gemm_workspace_bytes(a); }
  int64_t norm_backward_workspace_bytes(const NormBackwardArgs& a) override {
    return cpu_->norm_backward_workspace_bytes(a);
  }
  int64_t attention_workspace_bytes(const AttentionArgs& a) override {
    return cpu_->attention_workspace_bytes(a);
  }
  int64_t attention_backward_workspace_bytes(const AttentionBackwardArgs& a) override {
    return cpu_->attention_backward_workspace_bytes(a);
  }

 private:
  template <class Call>
  void play(Call call) {
    far_.open();
    call();
    far_.close();
  }

  FarDevice& far_;
  std::unique_ptr<device::Device> host_;
  std::unique_ptr<Kernels> cpu_;
};

}  // namespace

std::unique_ptr<kernels::Kernels> make_far_kernels(FarDevice& far, int threads) {
  return std::make_unique<FarKernels>(far, threads);
}

}  // namespace galvatron::test
