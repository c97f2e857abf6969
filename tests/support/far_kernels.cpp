// Every call becomes something for the stream to do: then the CPU's kernels compute on the memory behind the
// far addresses. Arguments are copied, as a launch copies them.

#include <cstring>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/algorithm_chooser.hpp"
#include "kernels/cuda/fused_attention.hpp"
#include "kernels/cuda/product.hpp"
#include "support/far_device.hpp"

namespace galvatron::test {
namespace {

using namespace kernels;
using core::ActivationKind;

class FarKernels final : public Kernels {
 public:
  FarKernels(FarDevice& far, std::unique_ptr<Kernels> kernels)
      : far_(far),
        host_(device::make_device(device::DeviceKind::cpu)),
        stream_(host_->make_stream()),
        cpu_(std::move(kernels)) {}

  void gemm(Stream& s, const GemmArgs& a) override {
    choose(products_, cuda::text_of(cuda::product_of(a).key));
    play(s, [=, this] { cpu_->gemm(*stream_, near(a)); });
  }
  void gemm_with(Stream& s, const GemmArgs& a, const Epilogue& e) override {
    if (const auto product = cuda::product_of(a, e)) choose(products_, cuda::text_of(product->key));
    play(s, [=, this] { cpu_->gemm_with(*stream_, near(a), near(e)); });
  }
  void norm(Stream& s, const NormArgs& a) override {
    play(s, [=, this] { cpu_->norm(*stream_, near(a)); });
  }
  void norm_backward(Stream& s, const NormBackwardArgs& a) override {
    play(s, [=, this] { cpu_->norm_backward(*stream_, near(a)); });
  }
  void activation(Stream& s, ActivationKind kind, TensorView x, TensorView y) override {
    play(s, [=, this] { cpu_->activation(*stream_, kind, near(x), near(y)); });
  }
  void activation_backward(Stream& s, ActivationKind kind, TensorView x, TensorView dy,
                           TensorView dx) override {
    play(s, [=, this] { cpu_->activation_backward(*stream_, kind, near(x), near(dy), near(dx)); });
  }
  void attention(Stream& s, const AttentionArgs& a) override {
    if (const auto key = cuda::fused_key_of(a)) choose(attention_, cuda::text_of(*key));
    play(s, [=, this] { cpu_->attention(*stream_, near(a)); });
  }
  void attention_backward(Stream& s, const AttentionBackwardArgs& a) override {
    if (const auto key = cuda::fused_key_of(a)) choose(attention_, cuda::text_of(*key));
    play(s, [=, this] { cpu_->attention_backward(*stream_, near(a)); });
  }
  void add(Stream& s, TensorView a, TensorView b, TensorView bias, TensorView out) override {
    play(s, [=, this] { cpu_->add(*stream_, near(a), near(b), near(bias), near(out)); });
  }
  void column_sum(Stream& s, TensorView x, TensorView out) override {
    play(s, [=, this] { cpu_->column_sum(*stream_, near(x), near(out)); });
  }
  void embedding(Stream& s, TensorView ids, TensorView table, int64_t first, TensorView out) override {
    play(s, [=, this] { cpu_->embedding(*stream_, near(ids), near(table), first, near(out)); });
  }
  void embedding_backward(Stream& s, TensorView ids, TensorView dout, int64_t first,
                          TensorView dtable) override {
    play(s, [=, this] { cpu_->embedding_backward(*stream_, near(ids), near(dout), first, near(dtable)); });
  }
  void add_positions(Stream& s, TensorView x, TensorView table, const RowPositions& positions,
                     TensorView out) override {
    play(s, [=, this] { cpu_->add_positions(*stream_, near(x), near(table), positions, near(out)); });
  }
  void add_positions_backward(Stream& s, TensorView dout, const RowPositions& positions,
                              TensorView dtable) override {
    play(s, [=, this] { cpu_->add_positions_backward(*stream_, near(dout), positions, near(dtable)); });
  }
  void rope(Stream& s, const RopeArgs& a) override {
    play(s, [=, this] { cpu_->rope(*stream_, near(a)); });
  }
  void cross_entropy(Stream& s, const CrossEntropyArgs& a) override {
    play(s, [=, this] { cpu_->cross_entropy(*stream_, near(a)); });
  }
  void fill(Stream& s, TensorView x, double value) override {
    play(s, [=, this] { cpu_->fill(*stream_, near(x), value); });
  }
  void copy(Stream& s, TensorView from, TensorView to) override {
    play(s, [=, this] { cpu_->copy(*stream_, near(from), near(to)); });
  }
  void adamw(Stream& s, const AdamWArgs& a) override {
    play(s, [this, args = a, decay = std::vector<core::DecayRange>(a.decay.begin(), a.decay.end())] {
      auto here = near(args);
      here.decay = decay;
      cpu_->adamw(*stream_, here);
    });
  }
  void sgd(Stream& s, TensorView parameter, TensorView gradient, TensorView working, double lr,
           double gradient_scale) override {
    play(s, [=, this] {
      cpu_->sgd(*stream_, near(parameter), near(gradient), near(working), lr, gradient_scale);
    });
  }
  void sum_of_squares(Stream& s, TensorView x, TensorView out) override {
    play(s, [=, this] { cpu_->sum_of_squares(*stream_, near(x), near(out)); });
  }
  AlgorithmChooser* chooser(core::ChosenStep step) override {
    return step == core::ChosenStep::products ? &products_ : &attention_;
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
  /// The same arguments with every far address in them replaced: the words that are one.
  template <class Args>
  Args near(Args args) const {
    static_assert(std::is_trivially_copyable_v<Args> && sizeof(Args) % sizeof(std::byte*) == 0);
    auto* bytes = reinterpret_cast<std::byte*>(&args);
    for (size_t at = 0; at < sizeof(Args); at += sizeof(std::byte*)) {
      std::byte* word = nullptr;
      std::memcpy(&word, bytes + at, sizeof word);
      word = far_.near(word);
      std::memcpy(bytes + at, &word, sizeof word);
    }
    return args;
  }
  /// As if a library offered three algorithms, of which the last is the fastest; all give the same bits.
  void choose(AlgorithmChooser& chooser, const std::string& call) {
    if (!chosen_.insert(call).second || chooser.kept(call)) return;
    const std::vector<std::string> candidates = {"first", "second", "third"};
    chooser.choose(call, candidates, [](size_t i) { return 1.0 / static_cast<double>(i + 1); });
  }
  void play(Stream& stream, std::function<void()> call) { give(stream, std::move(call)); }

  FarDevice& far_;
  std::unique_ptr<device::Device> host_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Kernels> cpu_;
  AlgorithmChooser products_{"a far library 1", "a far device"};
  AlgorithmChooser attention_{"a far attention 1", "a far device"};
  std::set<std::string> chosen_;
};

}  // namespace

std::unique_ptr<Kernels> make_far_kernels(FarDevice& far, std::unique_ptr<Kernels> kernels) {
  return std::make_unique<FarKernels>(far, std::move(kernels));
}

std::unique_ptr<Kernels> make_far_kernels(FarDevice& far, int threads) {
  // The CPU's kernels do not keep the device that they are made for.
  const auto host = device::make_device(device::DeviceKind::cpu);
  return make_far_kernels(far, make_kernels(*host, threads));
}

}  // namespace galvatron::test
