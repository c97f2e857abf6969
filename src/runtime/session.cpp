// Per step one sum carries the loss and the squared gradient norm, and one maximum every rank's requests.

#include "runtime/session.hpp"

#include <algorithm>
#include <cmath>

#include "comm/world.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "runtime/kernel_args.hpp"
#include "runtime/optimizer.hpp"

namespace galvatron::runtime {

Session::Session(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                 const plan::Plan& plan, const spec::ModelSpec& model, const SessionOptions& options)
    : world_(world),
      plan_(plan),
      model_(model),
      before_update_(options.before_update),
      stream_(device.make_stream()),
      window_(device, *stream_),
      feed_(device, *stream_) {
  groups_ = std::make_unique<LiveGroups>(world, plan, model, stream_.get());
  world.agree("allocate the model", [&] {
    const KernelWorkspace workspace(kernels);
    stage_ = std::make_unique<Stage>(device,
                                     plan::lower_stage(plan, model, world.rank(), options.dtype, workspace));
    stage_->initialise(model, options.seed, window_);
  });
  auto find = [this](const spec::LayerStrategy& strategy,
                     const program::CollectiveAttributes& collective) -> comm::Communicator& {
    return groups_->find(strategy, collective);
  };
  steps_ = std::make_unique<StepPlayer>(kernels, *stream_, find, times_);
  player_ = std::make_unique<Player>(*stage_, *steps_, groups_->pipeline(), times_, options.pat);
}

StepResult Session::step(MicroBatchSource& source, const deck::TrainSection& train, int64_t step,
                         Request request) {
  const auto begin = now();
  FedSource fed(feed_, source);
  player_->play_lane(fed);
  player_->measure_gradients();
  auto result = reduce(request);
  const auto settings = update_settings(train, step, result.gradient_norm);
  before_update_();
  player_->update(settings);
  result.lr = settings.lr;
  result.seconds = now() - begin;
  return result;
}

StepResult Session::reduce(Request request) {
  stream_->synchronize();
  double sums[2] = {stage_->loss(), stage_->gradient_norm()};
  double asked = static_cast<double>(request);
  {
    const Timed timed(times_, Section::gradient_sync);
    world_.all_reduce(sums, core::ReduceOp::sum);
    world_.all_reduce(std::span(&asked, 1), core::ReduceOp::max);
  }
  if (!std::isfinite(sums[0]) || !std::isfinite(sums[1]))
    require_finite(stage_->loss(), stage_->gradient_norm());
  StepResult result;
  result.loss = sums[0] / (static_cast<double>(plan_.batch) * static_cast<double>(model_.seq));
  result.gradient_norm = std::sqrt(sums[1]);
  result.request = static_cast<Request>(static_cast<int32_t>(asked));
  return result;
}

void Session::require_finite(double loss, double squares) {
  world_.agree("check that loss and gradients are finite", [&] {
    if (std::isfinite(loss) && std::isfinite(squares)) return;
    throw core::Error(
        core::ExitCode::numerical,
        core::format(
            "not finite: loss sum {}, squared gradient norm {} on stage {}; try a lower train.lr or a longer "
            "train.warmup, or resume from an earlier checkpoint",
            loss, squares, stage_->program().stage));
  });
  world_.agree("", [] {
    throw core::Error(core::ExitCode::numerical,
                      "loss or gradient norm overflowed when summed over the ranks");
  });
}

double Session::evaluate(MicroBatchSource& source, int64_t micros) {
  FedSource fed(feed_, source);
  player_->evaluate(fed, micros);
  stream_->synchronize();
  double sum = stage_->loss();
  world_.all_reduce(std::span(&sum, 1), core::ReduceOp::sum);
  return sum;
}

}  // namespace galvatron::runtime
