// The tokens that a deck's [data] section names.

#include "app/job.hpp"
#include "core/format.hpp"
#include "runtime/trainer.hpp"
#include "store/training_data.hpp"

namespace galvatron::app {
namespace {

/// "blend: 70 % a.bin (1000 tokens), …".
std::string blend_text(const std::vector<store::BlendPart>& parts, const std::vector<std::string>& entries) {
  double sum = 0;
  for (const auto& part : parts) sum += part.weight;
  std::vector<std::string> texts;
  for (size_t i = 0; i < parts.size(); ++i)
    texts.push_back(
        core::format("{:.4g} % {} ({} tokens)", 100 * parts[i].weight / sum, entries[i], parts[i].tokens));
  return "blend: " + core::join(texts, ", ");
}

}  // namespace

Data load_data(Job& job) {
  const auto& section = job.deck().data;
  const auto& model = job.model();
  store::DataOptions options;
  options.format = section.format;
  options.train = section.train;
  options.valid = section.valid;
  options.weights = section.weights;
  options.split = section.split;
  options.synthetic_tokens = section.synthetic_tokens;
  options.seed = static_cast<uint64_t>(job.deck().run.seed);
  options.vocabulary = model.vocab;
  options.alive = [&job](std::string_view what) {
    job.pat(core::format("read the data: {}", what));
    job.end_if_asked("while the data were read");
  };
  options.index_folder = job.paths().root / "index";
  auto loaded = store::load_training_data(job.world(), options);
  job.world().agree("", [&] { job.end_if_asked("while the data were read"); });
  for (const auto& warning : loaded.warnings) job.log().warning(warning);
  for (const auto& index : loaded.indices) job.log().info("packed text: " + index);
  Data data;
  data.train = std::move(loaded.train);
  data.valid = std::move(loaded.valid);
  data.parts = std::move(loaded.parts);
  job.world().agree("look at the data", [&] {
    if (data.train->vocabulary() > model.vocab)
      throw core::UserError(
          core::ExitCode::data,
          core::format("the text has {} different tokens (bytes) and model.vocab is {}; set it to {}",
                       data.train->vocabulary(), model.vocab, data.train->vocabulary()));
  });
  job.log().info(core::format("data: {}, {} files, {} training tokens, {} validation tokens", section.format,
                              loaded.files, data.train->tokens(), data.valid ? data.valid->tokens() : 0));
  if (data.parts.size() > 1) job.log().info(blend_text(data.parts, section.train));
  if (data.valid && data.valid->tokens() <= model.seq) {
    job.log().warning(
        core::format("{} validation tokens are less than one window of model.seq + 1 = {}: no validation",
                     data.valid->tokens(), model.seq + 1));
    data.valid.reset();
  }
  if (data.valid && section.format == "text")
    data.bigram_loss = store::bigram_loss(*data.train, *data.valid, model.seq,
                                          runtime::validation_windows(*data.valid, model.seq));
  return data;
}

}  // namespace galvatron::app
