// The backward that the Builder derives against central differences of the forward, in fp64 on one rank, for
// a whole small model: a sample of elements of every tensor.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/random.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "support/plan_runs.hpp"
#include "support/plan_space.hpp"
#include "support/tolerances.hpp"

namespace galvatron::testing {
namespace {

using runtime::SnapshotUse;
using spec::Recompute;

constexpr int64_t batch = 2, samples_per_tensor = 12;

/// One session of one rank in fp64, its weights within reach.
class Machine {
 public:
  Machine(const spec::ModelSpec& model, Recompute recompute, int64_t micros)
      : model_(model),
        plan_(uniform_plan(model, 1, 1, 1, 0, recompute, batch, micros)),
        device_(device::make_device(device::DeviceKind::cpu)),
        kernels_(kernels::make_kernels(*device_, 1)),
        world_(comm::make_dry_world(0, 1, 1)),
        data_(store::make_synthetic_dataset(3, "gradients", 1000, model.vocab)),
        tensors_(runtime::tensors_of(model, core::DType::f64)) {
    runtime::SessionOptions options;
    options.dtype = core::DType::f64;
    options.before_update = [this] { keep_gradients(); };
    session_ = std::make_unique<runtime::Session>(*world_, *device_, *kernels_, plan_, model_, options);
    loader_ = std::make_unique<runtime::Loader>(
        *data_, [&](int64_t sample) { return sample * (model_.seq + 1); }, plan_, model_, 0);
    scatter_weights();
  }

  /// Mean loss per token at the weights as they are now.
  double loss() {
    return session_->evaluate(*loader_, plan_.microbatches) / static_cast<double>(batch * model_.seq);
  }

  /// Analytic gradients of that loss, by tensor; also the loss that the step saw. Weights stay.
  double differentiate() {
    deck::TrainSection train;
    train.optimizer = "sgd";
    train.lr = train.min_lr = 0;
    train.clip = 0;
    return session_->step(*loader_, train, 0).loss;
  }

  const Tensors& gradients() const { return gradients_; }
  std::map<std::string, std::vector<double*>>& weights() { return weights_; }

 private:
  /// Norms start at one and biases at zero, where a wrong factor could hide: everything moves.
  void scatter_weights() {
    for (const auto& piece : runtime::pieces_of(session_->stage(), model_, tensors_, SnapshotUse::loading)) {
      const auto& name = tensors_[static_cast<size_t>(piece.tensor)].name;
      if (!name.starts_with("model/")) continue;
      auto* data = reinterpret_cast<double*>(piece.data);
      auto& elements = weights_[name];
      for (int64_t e = 0; e < piece.count; ++e) {
        data[e] += 0.1 * core::normal(core::key_of(5, name), static_cast<uint64_t>(piece.offset + e));
        elements.push_back(data + e);
      }
    }
  }

  void keep_gradients() {
    for (const auto& piece : runtime::gradient_pieces_of(session_->stage(), model_, tensors_)) {
      const auto* data = reinterpret_cast<const double*>(piece.data);
      auto& list = gradients_[tensors_[static_cast<size_t>(piece.tensor)].name];
      list.insert(list.end(), data, data + piece.count);
    }
  }

  spec::ModelSpec model_;
  plan::Plan plan_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<kernels::Kernels> kernels_;
  std::unique_ptr<comm::World> world_;
  std::unique_ptr<store::Dataset> data_;
  std::vector<store::TensorInfo> tensors_;
  std::unique_ptr<runtime::Session> session_;
  std::unique_ptr<runtime::Loader> loader_;
  Tensors gradients_;
  std::map<std::string, std::vector<double*>> weights_;
};

/// Fourth-order central difference.
double difference(Machine& machine, double& weight) {
  constexpr double h = 1e-3;
  const auto kept = weight;
  const auto at = [&](double offset) {
    weight = kept + offset;
    return machine.loss();
  };
  const auto slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
  weight = kept;
  return slope;
}

spec::ModelSpec tiny(const Variant& variant) {
  auto model = small_model(2, 12, 4, 11, 6);
  for (auto& layer : model.layers) {
    layer.dims.tied = variant.tied;
    layer.dims.bias = variant.bias;
    layer.dims.kv_heads = variant.kv_heads;
  }
  return model;
}

struct Case {
  Variant variant;
  Recompute recompute;
  int64_t micros;
};

class Gradients : public ::testing::TestWithParam<Case> {};

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const bool tied : {true, false})
    for (const bool bias : {true, false})
      for (const int64_t kv_heads : {4, 2, 1})
        for (const auto recompute : {Recompute::none, Recompute::full})
          list.push_back({{tied, bias, kv_heads}, recompute, kv_heads == 2 ? 2 : 1});
  return list;
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  const auto& c = info.param;
  return std::string(c.variant.tied ? "Tied" : "Untied") + (c.variant.bias ? "Bias" : "NoBias") + "Kv" +
         std::to_string(c.variant.kv_heads) + (c.recompute == Recompute::full ? "Recompute" : "");
}

INSTANTIATE_TEST_SUITE_P(Models, Gradients, ::testing::ValuesIn(cases()), case_name);

TEST_P(Gradients, EqualFiniteDifferences) {
  Machine machine(tiny(GetParam().variant), GetParam().recompute, GetParam().micros);
  const auto evaluated = machine.loss();
  EXPECT_NEAR(machine.differentiate(), evaluated, 1e-14 * evaluated) << "training and evaluation disagree";
  ASSERT_EQ(machine.gradients().size(), machine.weights().size());
  double largest = 0;
  for (const auto& [name, gradient] : machine.gradients())
    for (const auto g : gradient) largest = std::max(largest, std::abs(g));
  for (auto& [name, elements] : machine.weights()) {
    const auto& gradient = machine.gradients().at(name);
    ASSERT_EQ(gradient.size(), elements.size()) << name;
    const auto key = core::key_of(test_seed(), name);
    const auto floor = tolerance::finite_difference_floor * largest;
    for (uint64_t n = 0; n < samples_per_tensor; ++n) {
      const auto e = static_cast<size_t>(core::uniform_below(key, n, static_cast<int64_t>(elements.size())));
      const auto expected = difference(machine, *elements[e]);
      EXPECT_NEAR(gradient[e], expected, tolerance::finite_difference * std::max(std::abs(expected), floor))
          << name << ", element " << e;
    }
  }
}

}  // namespace
}  // namespace galvatron::testing
