// galvatron generate: a trained model goes on with a text.

#include "runtime/generate.hpp"

#include <algorithm>
#include <charconv>

#include "app/phases.hpp"
#include "app/verbs.hpp"
#include "core/format.hpp"

namespace galvatron::app {
namespace {

/// The ids to go on with; every fault of the command line at once.
std::vector<int32_t> prompt_of(const CommandLine& line, int64_t vocabulary) {
  std::vector<std::string> problems;
  if (line.prompt.empty() == line.prompt_ids.empty())
    problems.emplace_back("command line: generate needs either --prompt TEXT or --prompt-ids 1,2,3");
  if (line.tokens < 1)
    problems.push_back(core::format("command line: --tokens is {}; at least 1", line.tokens));
  if (!(line.temperature >= 0.0))
    problems.push_back(core::format("command line: --temperature is {}; at least 0", line.temperature));
  if (line.top_k < 0) problems.push_back(core::format("command line: --top-k is {}; at least 0", line.top_k));
  std::vector<int32_t> ids;
  for (const char c : line.prompt) ids.push_back(static_cast<int32_t>(static_cast<uint8_t>(c)));
  const char* at = line.prompt_ids.data();
  const char* const end = at + line.prompt_ids.size();
  while (at < end) {
    int32_t id = 0;
    const auto [rest, error] = std::from_chars(at, end, id);
    if (error != std::errc() || (rest != end && *rest != ',')) {
      problems.push_back(core::format("command line: --prompt-ids: '{}' is no list of ids", line.prompt_ids));
      break;
    }
    ids.push_back(id);
    at = rest == end ? end : rest + 1;
  }
  for (const auto id : ids)
    if (id < 0 || id >= vocabulary) {
      problems.push_back(
          core::format("command line: id {} of the prompt is not below model.vocab = {}", id, vocabulary));
      break;
    }
  if (!problems.empty()) throw core::UserError(core::join(problems, "\n"));
  return ids;
}

/// The plan with one sample for every rank that takes samples: the rest of a batch would be computed in vain.
plan::Plan narrowed(plan::Plan plan, const spec::ModelSpec& model) {
  const auto wide = plan;
  int64_t samples = 1;
  for (const auto& layer : plan.layers) samples = std::max<int64_t>(samples, layer.dp);
  plan.batch = samples * plan.microbatches;
  return plan::faults_of(plan, model, plan.world).empty() ? plan : wide;
}

}  // namespace

core::ExitCode generate_verb(Context& context) {
  const auto& line = context.line;
  Job job(context, FolderUse::read);
  // 1. What to go on with.
  std::vector<int32_t> prompt;
  job.world().agree("", [&] { prompt = prompt_of(line, job.model().vocab); });
  // 2. The model, divided over the ranks.
  const auto checkpoint = chosen_checkpoint(job);
  const auto plan = narrowed(plan_for_looking(job), job.model());
  const auto trained = load_trained(job, plan, checkpoint);
  // 3. One id after the other, printed as they come.
  const bool as_text = line.prompt_ids.empty();
  context.console.print(as_text ? "\n" + line.prompt : "\n" + line.prompt_ids);
  const runtime::SamplingOptions options{line.temperature, line.top_k, static_cast<uint64_t>(line.seed)};
  const auto made = runtime::generate(*trained.session, prompt, line.tokens, options, [&](int32_t id) {
    job.pat("generate");
    job.world().agree("", [&] { job.end_if_asked("in the text"); });
    context.console.print(as_text && id < 256 ? std::string(1, static_cast<char>(id))
                                              : core::format(",{}", id));
  });
  context.console.print("\n");
  context.result.set("step", trained.step);
  context.result.set("tokens", static_cast<int64_t>(made.size()));
  return core::ExitCode::finished;
}

}  // namespace galvatron::app
