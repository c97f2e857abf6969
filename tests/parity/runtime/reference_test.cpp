// What this program computes is what the public reference implementation computes: logits, losses, every
// gradient, and ten AdamW steps with clipping, from the same weights on the same tokens.

#include "support/reference.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.hpp"
#include "runtime/loader.hpp"
#include "support/plan_job.hpp"
#include "support/tolerances.hpp"

namespace galvatron::testing {
namespace {

struct Bounds {
  double gradient, loss, gradient_norm, weights;
};
constexpr Bounds fp64{tolerance::reference_fp64, tolerance::reference_fp64, tolerance::reference_fp64,
                      tolerance::reference_weights_fp64};
constexpr Bounds fp32{tolerance::gradient, tolerance::loss, tolerance::reference_gradient_norm_fp32,
                      tolerance::reference_weights_fp32};

constexpr Bounds fp16{tolerance::reference_fp16, tolerance::reference_loss_fp16, tolerance::reference_fp16,
                      tolerance::reference_fp16};
constexpr Bounds bf16{tolerance::reference_bf16, tolerance::reference_loss_bf16, tolerance::reference_bf16,
                      tolerance::reference_bf16};

class ReferenceParity : public PlanJob {
 protected:
  void expect_reference(const std::string& family, core::DType dtype, const Bounds& bounds) {
    const auto reference = read_reference(family);
    const auto all = uniform_plans(reference.model, world().size(), reference.batch, {1, 2});
    const auto played = some_of(pairwise_cover(all));
    for (const auto& plan : played) expect_plan(reference, plan, dtype, bounds);
    say(family + " beside " + reference.versions + ", " + std::string(core::name(dtype)), played.size(),
        all.size());
  }

 private:
  /// A dozen, evenly taken: that all plans compute the same is proved elsewhere.
  static std::vector<plan::Plan> some_of(const std::vector<plan::Plan>& plans) {
    if (play_everything()) return plans;
    std::vector<plan::Plan> some;
    const auto stride = (plans.size() + 11) / 12;
    for (size_t i = 0; i < plans.size(); i += stride) some.push_back(plans[i]);
    return some;
  }

  /// The tensors that a type can be held to. The gradient of a key's bias is zero: what fp32 has of it is
  /// rounding, which AdamW turns into steps of any size up to the learning rate (softmax does not feel them).
  static Tensors comparable(Tensors tensors, core::DType dtype) {
    if (dtype != core::DType::f64)
      std::erase_if(tensors, [](const auto& tensor) { return tensor.first.ends_with(".k.bias"); });
    return tensors;
  }

  void expect_plan(const Reference& reference, const plan::Plan& plan, core::DType dtype,
                   const Bounds& bounds) {
    SCOPED_TRACE(describe(plan));
    const ReferenceTokens tokens(reference.model.vocab);
    RunOptions options;
    options.dtype = dtype;
    options.steps = reference.steps;
    options.train = reference.train;
    if (dtype == core::DType::f16) options.train.precision = "fp16";
    options.data = &tokens;
    options.initial = reference_weight;
    const auto run = run_plan(world(), plan, reference.model, options);
    expect_training(run, reference.fp64, dtype, bounds, "fp64");
    if (dtype == core::DType::f16) expect_training(run, reference.fp16, dtype, bounds, "fp16");
    for (const auto norm : reference.fp64.gradient_norms)
      EXPECT_GT(norm, reference.train.clip) << "clipping is not active";
  }

  void expect_training(const RunResult& run, const RecordedTraining& recorded, core::DType dtype,
                       const Bounds& bounds, const std::string& recorded_in) {
    SCOPED_TRACE("recorded in " + recorded_in);
    ASSERT_EQ(run.gradients.size(), recorded.gradients.size()) << "tensors of the model and of the file";
    expect_close(deviations(world(), comparable(recorded.gradients, dtype), run.gradients), bounds.gradient,
                 "gradient");
    expect_series(run.losses, recorded.losses, bounds.loss, "loss");
    expect_series(run.gradient_norms, recorded.gradient_norms, bounds.gradient_norm, "gradient norm");
    expect_close(deviations(world(), comparable(recorded.weights, dtype), run.weights), bounds.weights,
                 "weights");
  }
};

/// The model before any step, one rank, fp64, asked for the loss of one token at a time.
class ForwardRun final : public runtime::MicroBatchSource {
 public:
  explicit ForwardRun(const Reference& reference)
      : plan_(uniform_plan(reference.model, 1, 1, 1, 0, spec::Recompute::none, reference.batch, 1)),
        data_(reference.model.vocab),
        session_(*world_, *device_, *kernels_, plan_, reference.model, {.dtype = core::DType::f64}),
        loader_(
            data_, [&](int64_t sample) { return sample * (reference.model.seq + 1); }, plan_, reference.model,
            0) {
    set_weights(session_, runtime::tensors_of(reference.model, core::DType::f64), reference_weight);
  }

  /// −log of the probability of `label` after token number `row` of the first batch.
  double loss(int64_t row, int32_t label) {
    row_ = row;
    label_ = label;
    return session_.evaluate(*this, 1);
  }
  /// The token that does come after it.
  int32_t next(int64_t row) {
    const auto seq = session_.model().seq;
    int32_t token = 0;
    data_.read(row / seq * (seq + 1) + row % seq + 1, std::span(&token, 1));
    return token;
  }

  void tokens(int64_t micro, device::TensorView out) override { loader_.tokens(micro, out); }
  void labels(int64_t, device::TensorView out) override {
    auto* labels = out.as<int32_t>();
    std::fill(labels, labels + out.cols, -1);  // ignored
    labels[row_] = label_;
  }

 private:
  std::unique_ptr<comm::World> world_ = comm::make_dry_world(0, 1, 1);
  std::unique_ptr<device::Device> device_ = device::make_device(device::DeviceKind::cpu);
  std::unique_ptr<kernels::Kernels> kernels_ = kernels::make_kernels(*device_, 1);
  plan::Plan plan_;
  ReferenceTokens data_;
  runtime::Session session_;
  runtime::Loader loader_;
  int64_t row_ = 0;
  int32_t label_ = 0;
};

/// The log-probabilities of all tokens after each of the first sample, and the loss of each token of the
/// batch.
void expect_forward(const std::string& family) {
  const auto reference = read_reference(family);
  ForwardRun run(reference);
  const auto vocab = static_cast<size_t>(reference.model.vocab);
  std::vector<double> got, expected;
  for (size_t at = 0; at < reference.logits.size(); at += vocab) {
    const std::span logits(reference.logits.data() + at, vocab);
    double sum = 0;
    for (const auto logit : logits) sum += std::exp(logit);
    for (size_t token = 0; token < vocab; ++token) {
      expected.push_back(std::log(sum) - logits[token]);
      got.push_back(run.loss(static_cast<int64_t>(at / vocab), static_cast<int32_t>(token)));
    }
  }
  expect_series(got, expected, tolerance::reference_fp64, "log-probability");
  got.clear();
  for (size_t row = 0; row < reference.token_losses.size(); ++row)
    got.push_back(run.loss(static_cast<int64_t>(row), run.next(static_cast<int64_t>(row))));
  expect_series(got, reference.token_losses, tolerance::reference_fp64, "token loss");
}

TEST_F(ReferenceParity, GptForward) {
  if (world().size() > 1) GTEST_SKIP() << "asks a single rank, token by token: played on one rank";
  expect_forward("gpt");
}

TEST_F(ReferenceParity, LlamaForward) {
  if (world().size() > 1) GTEST_SKIP() << "asks a single rank, token by token: played on one rank";
  expect_forward("llama");
}

TEST_F(ReferenceParity, GptInFp64) {
  expect_reference("gpt", core::DType::f64, fp64);
}

TEST_F(ReferenceParity, GptInFp32) {
  expect_reference("gpt", core::DType::f32, fp32);
}

TEST_F(ReferenceParity, GptInBf16) {
  expect_reference("gpt", core::DType::bf16, bf16);
}

TEST_F(ReferenceParity, LlamaInBf16) {
  expect_reference("llama", core::DType::bf16, bf16);
}

TEST_F(ReferenceParity, GptInFp16) {
  expect_reference("gpt", core::DType::f16, fp16);
}

TEST_F(ReferenceParity, LlamaInFp16) {
  expect_reference("llama", core::DType::f16, fp16);
}

TEST_F(ReferenceParity, LlamaInFp64) {
  expect_reference("llama", core::DType::f64, fp64);
}

TEST_F(ReferenceParity, LlamaInFp32) {
  expect_reference("llama", core::DType::f32, fp32);
}

}  // namespace
}  // namespace galvatron::testing
