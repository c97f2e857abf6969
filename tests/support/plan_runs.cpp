// Plays plans on small models and reads back whole tensors; see the header for why.

#include "support/plan_runs.hpp"

#include <cmath>
#include <limits>

#include "deck/sections.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "support/test_device.hpp"

namespace galvatron::testing {
namespace {

double element(const std::byte* data, core::DType dtype, int64_t i) {
  return dtype == core::DType::f64 ? reinterpret_cast<const double*>(data)[i]
                                   : reinterpret_cast<const float*>(data)[i];
}

void set_element(std::byte* data, core::DType dtype, int64_t i, double value) {
  if (dtype == core::DType::f64)
    reinterpret_cast<double*>(data)[i] = value;
  else
    reinterpret_cast<float*>(data)[i] = static_cast<float>(value);
}

Tensors read(runtime::Session& session, const std::vector<store::TensorInfo>& infos,
             const std::vector<store::Piece>& pieces, const std::string& prefix = "model/") {
  Tensors tensors;
  for (const auto& info : infos)
    if (info.name.starts_with(prefix))
      tensors[info.name].assign(static_cast<size_t>(info.elements()),
                                std::numeric_limits<double>::quiet_NaN());
  for (const auto& piece : pieces) {
    const auto& info = infos[static_cast<size_t>(piece.tensor)];
    const auto found = tensors.find(info.name);
    if (found == tensors.end()) continue;
    for (int64_t time = 0; time < piece.times; ++time) {
      const auto stretch = piece.stretch(time);
      const auto bytes = session.window().look(stretch.data, stretch.count * core::size_of(info.dtype));
      for (int64_t e = 0; e < stretch.count; ++e)
        found->second[static_cast<size_t>(stretch.offset + e)] = element(bytes.data(), info.dtype, e);
    }
  }
  return tensors;
}

}  // namespace

void set_weights(runtime::Session& session, const std::vector<store::TensorInfo>& tensors,
                 const InitialWeight& initial) {
  const auto held =
      runtime::pieces_of(session.stage(), session.model(), tensors, runtime::SnapshotUse::loading);
  for (const auto& piece : held) {
    const auto& tensor = tensors[static_cast<size_t>(piece.tensor)];
    if (!tensor.name.starts_with("model/")) continue;
    for (int64_t time = 0; time < piece.times; ++time) {
      const auto stretch = piece.stretch(time);
      const auto bytes = session.window().edit(stretch.data, stretch.count * core::size_of(tensor.dtype));
      for (int64_t e = 0; e < stretch.count; ++e)
        set_element(bytes.data(), tensor.dtype, e, initial(tensor, stretch.offset + e));
      session.window().put_back();
    }
  }
  session.restore();
}

spec::ModelSpec small_model(int64_t blocks, int64_t hidden, int64_t heads, int64_t vocab, int64_t seq) {
  deck::ModelSection section;
  section.layers = blocks;
  section.hidden = hidden;
  section.heads = section.kv_heads = heads;
  section.ffn = 2 * hidden;
  section.vocab = vocab;
  section.seq = seq;
  section.init_std = 0.07;
  return spec::model_from_deck(section);
}

RunResult run_plan(comm::World& world, const plan::Plan& plan, const spec::ModelSpec& model,
                   const RunOptions& options) {
  auto& device = tested_device();
  auto kernels = kernels::make_kernels(device, 1);
  const auto data = store::make_synthetic_dataset(options.seed, "parity", 100000, model.vocab);
  const store::SampleOrder order(options.seed, data->tokens(), model.seq, "parity data");
  RunResult result;
  result.tensors = runtime::tensors_of(model, options.dtype);
  runtime::Session* live = nullptr;
  runtime::SessionOptions settings;
  settings.dtype = options.dtype;
  settings.seed = options.seed;
  settings.loss_scale = runtime::initial_loss_scale(options.train);
  settings.overlap = options.overlap;
  settings.recycled = options.recycled;
  settings.before_update = [&] {
    if (!result.gradients.empty()) return;
    result.gradients =
        read(*live, result.tensors, runtime::gradient_pieces_of(live->stage(), model, result.tensors));
    for (auto& [name, gradient] : result.gradients)
      for (auto& value : gradient) value /= live->loss_scale().factor;
  };
  runtime::Session session(world, device, *kernels, plan, model, settings);
  live = &session;
  if (options.initial) set_weights(session, result.tensors, options.initial);
  auto offset_of = [&](int64_t sample) {
    return options.data != nullptr ? sample * order.window_tokens() : order.offset_of(sample);
  };
  runtime::Loader loader(options.data != nullptr ? *options.data : *data, offset_of, plan, model,
                         world.rank());
  for (int64_t step = 0; step < options.steps; ++step) {
    loader.seek(step * plan.batch);
    const auto done = session.step(loader, options.train, step);
    result.losses.push_back(done.loss);
    result.gradient_norms.push_back(done.gradient_norm);
  }
  using runtime::SnapshotUse;
  result.weights = read(session, result.tensors,
                        runtime::pieces_of(session.stage(), model, result.tensors, SnapshotUse::saving));
  result.held = read(session, result.tensors,
                     runtime::pieces_of(session.stage(), model, result.tensors, SnapshotUse::loading), "");
  result.evaluation = session.evaluate(loader, plan.microbatches);
  if (options.train.optimizer == "sgd") {
    // Plain SGD leaves the moments alone; one more step shows that their memory is where it was planned.
    auto adamw = options.train;
    adamw.optimizer = "adamw";
    session.step(loader, adamw, options.steps);
  }
  result.planned_bytes = session.stage().planned_bytes();
  result.high_water_bytes = session.stage().high_water_bytes();
  return result;
}

RunResult run_single(int64_t batch, const spec::ModelSpec& model, const RunOptions& options) {
  const auto alone = comm::make_dry_world(0, 1, 1);
  return run_plan(*alone, uniform_plan(model, 1, 1, 1, 0, spec::Recompute::none, batch, 1), model, options);
}

double evaluate_initial(comm::World& world, const plan::Plan& plan, const spec::ModelSpec& model,
                        int64_t samples) {
  auto& device = tested_device();
  auto kernels = kernels::make_kernels(device, 1);
  const auto data = store::make_synthetic_dataset(7, "validation", 10000, model.vocab);
  runtime::Session session(world, device, *kernels, plan, model, {});
  runtime::Loader loader(
      *data, [&](int64_t sample) { return sample < samples ? sample * (model.seq + 1) : -1; }, plan, model,
      world.rank());
  return session.evaluate(loader, plan.microbatches);
}

plan::Plan uniform_plan(const spec::ModelSpec& model, int64_t pp, int32_t tp, int32_t dp, int32_t zero,
                        spec::Recompute recompute, int64_t batch, int64_t micros) {
  plan::Plan plan;
  plan.world = pp * tp * dp;
  plan.batch = batch;
  plan.microbatches = micros;
  for (int64_t s = 0; s < pp; ++s)
    plan.stages.push_back({s * model.size() / pp, (s + 1) * model.size() / pp - 1});
  for (const auto& layer : model.layers) {
    spec::LayerStrategy strategy;
    strategy.tp = tp;
    strategy.dp = dp;
    const bool inner = layer.kind == "attention" || layer.kind == "mlp";
    strategy.zero = !inner && pp > 1 ? std::min(zero, 1) : zero;
    if (inner) strategy.recompute = recompute;
    plan.layers.push_back(strategy);
  }
  return plan;
}

std::vector<Deviation> deviations(comm::World& world, const Tensors& reference, const Tensors& parts) {
  std::vector<double> sums;
  for (const auto& [name, expected] : reference) {
    double difference = 0, norm = 0;
    const auto& got = parts.at(name);
    for (size_t i = 0; i < expected.size(); ++i) {
      if (std::isnan(got[i])) continue;
      difference += (got[i] - expected[i]) * (got[i] - expected[i]);
      norm += expected[i] * expected[i];
    }
    sums.push_back(difference);
    sums.push_back(norm);
  }
  world.all_reduce(sums, core::ReduceOp::sum);
  std::vector<Deviation> result;
  size_t i = 0;
  for (const auto& [name, expected] : reference) {
    result.push_back({name, std::sqrt(sums[i]), std::sqrt(sums[i + 1])});
    i += 2;
  }
  return result;
}

}  // namespace galvatron::testing
