// galvatron eval: how well a trained model predicts the validation data, all of them.

#include <cmath>

#include "app/phases.hpp"
#include "app/verbs.hpp"
#include "core/format.hpp"
#include "runtime/training_state.hpp"
#include "runtime/validation.hpp"
#include "store/checkpoint_folder.hpp"

namespace galvatron::app {

std::filesystem::path chosen_checkpoint(Job& job) {
  const auto& named = job.context().line.checkpoint;
  if (!named.empty()) return named;
  const auto found = store::CheckpointFolder(job.paths().checkpoints()).newest_valid(job.world());
  for (const auto& rejected : found.rejected) job.log().warning(rejected);
  job.world().agree("", [&] {
    if (!found.found())
      throw core::UserError(core::ExitCode::checkpoint,
                            core::format("no checkpoint in {}; train first, or name one with --checkpoint",
                                         job.paths().checkpoints().string()));
  });
  return found.path;
}

Trained load_trained(Job& job, const plan::Plan& plan, const std::filesystem::path& checkpoint) {
  runtime::SessionOptions options;
  options.dtype = runtime::dtype_of(job.deck().train);
  options.seed = static_cast<uint64_t>(job.deck().run.seed);
  options.pat = [&job](std::string_view action) { job.pat(action); };
  Trained trained;
  trained.session = std::make_unique<runtime::Session>(job.world(), job.device(), job.kernels(), plan,
                                                       job.model(), options);
  trained.step = runtime::load_weights(*trained.session, options.dtype, checkpoint);
  job.log().info(core::format("weights: {}, step {}", checkpoint.string(), trained.step));
  return trained;
}

core::ExitCode eval_verb(Context& context) {
  Job job(context, FolderUse::read);
  // 1. Which weights.
  const auto checkpoint = chosen_checkpoint(job);
  // 2. Which data.
  const auto data = load_data(job);
  job.world().agree("", [&] {
    if (!data.valid)
      throw core::UserError(
          core::ExitCode::data,
          "there is no validation data; name some in data.valid, or keep some with data.split");
  });
  // 3. The model, divided over the ranks.
  const auto plan = plan_for_looking(job);
  auto [session, step] = load_trained(job, plan, checkpoint);
  // 4. Every window once.
  const auto windows = data.valid->tokens() / (job.model().seq + 1);
  const auto asked = [&job] {
    job.pat("evaluate");
    const bool stop = job.context().ranks->signals().stop_requested() || job.seconds_left() <= 0;
    return stop ? runtime::Request::stop_requeue : runtime::Request::none;
  };
  const auto result = runtime::validation_loss(*session, *data.valid, windows, asked);
  job.world().agree("", [&] {
    if (result.cut_short())
      throw core::Error(core::ExitCode::requeue, "stopped in the evaluation; the next start begins it again");
  });
  const auto loss = result.loss;
  job.log().info(core::format("loss {:.6f} nats per token, perplexity {:.4f}, over {} windows of {} tokens",
                              loss, std::exp(loss), windows, job.model().seq));
  context.result.set("step", step);
  context.result.set("windows", windows);
  context.result.set("tokens", windows * job.model().seq);
  context.result.set("loss", loss);
  context.result.set("perplexity", std::exp(loss));
  return core::ExitCode::finished;
}

}  // namespace galvatron::app
