// The tokens that a deck's [data] section names.

#include "app/job.hpp"
#include "core/format.hpp"
#include "runtime/trainer.hpp"
#include "store/text_dataset.hpp"

namespace galvatron::app {

Data load_data(Job& job) {
  const auto& section = job.deck().data;
  auto text = store::load_text(job.world(), {section.train, section.valid, section.split});
  for (const auto& warning : text.warnings) job.log().warning(warning);
  Data data;
  data.train = std::move(text.train);
  data.valid = std::move(text.valid);
  job.world().agree("look at the data", [&] {
    if (data.train->vocabulary() > job.model().vocab)
      throw core::UserError(
          core::ExitCode::data,
          core::format("the text has {} different tokens (bytes) and model.vocab is {}; set it to {}",
                       data.train->vocabulary(), job.model().vocab, data.train->vocabulary()));
  });
  job.log().info(core::format("data: {} files, {} training tokens, {} validation tokens", text.files,
                              data.train->tokens(), data.valid ? data.valid->tokens() : 0));
  if (data.valid && data.valid->tokens() <= job.model().seq) {
    job.log().warning(
        core::format("{} validation tokens are less than one window of model.seq + 1 = {}: no validation",
                     data.valid->tokens(), job.model().seq + 1));
    data.valid.reset();
  }
  if (data.valid)
    data.bigram_loss = store::bigram_loss(*data.train, *data.valid, job.model().seq,
                                          runtime::validation_windows(*data.valid, job.model().seq));
  return data;
}

}  // namespace galvatron::app
