// The table at the end of a run adds up: no second is counted in two sections.

#include "runtime/trainer.hpp"

#include <string>
#include <tuple>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/checkpoint_folder.hpp"
#include "store/json_lines.hpp"
#include "store/sealed_file.hpp"
#include "support/flipping_device.hpp"
#include "support/plan_job.hpp"
#include "support/trainer_job.hpp"

namespace galvatron::testing {
namespace {

class Trainer : public PlanJob {};

TEST_F(Trainer, SectionsAreDisjoint) {
  const auto model = variant_model({});
  deck::DeckValues deck;
  deck.train.steps = 4;
  deck.train.warmup = 1;
  deck.train.eval_every = 1;  // most of the run evaluates
  deck.checkpoint.every = 0;
  const auto plan = uniform_plan(model, 1, 1, world().size(), 0, spec::Recompute::none, 12, 1);
  TrainerJob trainer(world(), deck, model, plan);
  const auto report = runtime::train(trainer.job());
  double sum = 0;
  for (size_t i = 0; i < runtime::section_count; ++i)
    sum += report.sections.of(static_cast<runtime::Section>(i));
  EXPECT_EQ(report.steps, 4);
  EXPECT_TRUE(report.valid_loss.has_value());
  EXPECT_GT(report.sections.of(runtime::Section::evaluate), 0.0);
  EXPECT_LE(sum, report.wall_seconds) << "on rank " << world().rank();
}

/// What a checkpoint holds, block by block.
std::vector<std::tuple<int64_t, int64_t, int64_t, uint64_t>> blocks_of(const std::filesystem::path& file) {
  std::vector<std::tuple<int64_t, int64_t, int64_t, uint64_t>> blocks;
  const auto sealed = store::open_sealed(file, store::SealedKind::checkpoint);
  store::SealedRows rows(sealed);
  while (const auto row = rows.next()) blocks.emplace_back(row->tensor, row->offset, row->count, row->hash);
  return blocks;
}

TEST_F(Trainer, CheckpointsBehindTheStepsChangeNoBit) {
  const auto model = variant_model({});
  deck::DeckValues deck;
  deck.train.steps = 6;
  deck.train.warmup = 1;
  deck.checkpoint.every = 1;
  deck.checkpoint.keep = 10;
  const auto plan = uniform_plan(model, 1, 1, world().size(), 3, spec::Recompute::none, 12, 1);
  auto between_steps = deck;
  between_steps.checkpoint.asynchronous = false;
  TrainerJob behind(world(), deck, model, plan), between(world(), between_steps, model, plan);
  const auto a = runtime::train(behind.job()), b = runtime::train(between.job());
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_GT(a.copy_bytes, 0);
  EXPECT_EQ(b.copy_bytes, 0);
  for (int64_t step = 1; step <= 6; ++step) {
    const auto file = [&](const TrainerJob& job) {
      return store::CheckpointFolder(job.paths().checkpoints()).file_of(step);
    };
    EXPECT_EQ(blocks_of(file(behind)), blocks_of(file(between))) << "step " << step;
  }
  EXPECT_LE(a.sections.of(runtime::Section::checkpoint), a.wall_seconds);
}

TEST_F(Trainer, WithoutMemoryForCopiesCheckpointsAreMadeBetweenSteps) {
  const auto model = variant_model({});
  deck::DeckValues deck;
  deck.train.steps = 2;
  deck.checkpoint.every = 1;
  const auto plan = uniform_plan(model, 1, 1, world().size(), 0, spec::Recompute::none, 12, 1);
  TrainerJob trainer(world(), deck, model, plan);
  auto job = trainer.job();
  if (world().rank() == world().size() - 1) job.memory_bytes = 1000;  // one poor rank decides for all
  EXPECT_EQ(runtime::train(job).copy_bytes, 0);
}

/// Keeps what was noted, on rank 0.
class Notes {
 public:
  void add(const store::MetricsLine& line) { lines_ += line.json() + "\n"; }
  int64_t count(const std::string& what) const {
    int64_t found = 0;
    for (size_t at = lines_.find(what); at != std::string::npos; at = lines_.find(what, at + 1)) ++found;
    return found;
  }
  const std::string& text() const { return lines_; }

 private:
  std::string lines_;
};

TEST_F(Trainer, ADiskThatFailsForAWhileCostsCheckpointsAndNotTheRun) {
  const auto model = variant_model({});
  deck::DeckValues deck;
  deck.train.steps = 6;
  deck.checkpoint.every = 1;
  const auto plan = uniform_plan(model, 1, 1, world().size(), 0, spec::Recompute::none, 12, 1);
  for (const bool behind : {true, false}) {
    deck.checkpoint.asynchronous = behind;
    TrainerJob trainer(world(), deck, model, plan);
    const auto folder = trainer.paths().checkpoints();
    world().barrier();
    if (world().rank() == 0) std::filesystem::remove(folder);
    Notes notes;
    int64_t steps = 0;
    auto job = trainer.job();
    job.note = [&](const store::MetricsLine& line) { notes.add(line); };
    job.requests = [&] {
      if (++steps == 4 && world().rank() == 0) std::filesystem::create_directory(folder);
      return runtime::Request::none;
    };
    EXPECT_EQ(runtime::train(job).steps, 6);
    EXPECT_GE(notes.count("checkpoint failed"), 2) << notes.text();
    EXPECT_GE(notes.count("\"checkpoint\""), 2) << notes.text();
    const store::CheckpointFolder files(folder);
    EXPECT_EQ(files.newest_valid(world()).path, files.file_of(6)) << notes.text();
  }
}

TEST_F(Trainer, AFlippedBitEndsTheRunAtTheNextComparison) {
  const auto model = variant_model({});
  deck::DeckValues deck;
  deck.train.steps = 9;
  deck.train.lr = deck.train.min_lr = 0;  // the scales of the norms stay 1.0
  deck.train.check_replicas_every = 4;
  deck.checkpoint.every = 0;
  const auto plan = uniform_plan(model, 1, 1, world().size(), 0, spec::Recompute::none, 12, 1);
  TrainerJob trainer(world(), deck, model, plan);
  FlippingDevice device;
  auto kernels = kernels::make_kernels(device, 1);
  const auto base = trainer.job();
  std::string compared;
  int64_t steps = 0;
  const auto train = [&](int64_t flipped_before) {
    steps = 0;
    const runtime::TrainJob job{.deck = base.deck,
                                .model = base.model,
                                .plan = base.plan,
                                .world = base.world,
                                .device = device,
                                .kernels = *kernels,
                                .train_data = base.train_data,
                                .paths = base.paths,
                                .run_id = base.run_id,
                                .requests =
                                    [&] {
                                      if (++steps == flipped_before && world().rank() == world().size() - 1) {
                                        EXPECT_GT(device.flip_ones(), 0);
                                      }
                                      return runtime::Request::none;
                                    },
                                .pat =
                                    [&](std::string_view what) {
                                      if (what.starts_with("compare")) compared += std::string(what) + "; ";
                                    },
                                .log = base.log};
    runtime::train(job);
  };
  ASSERT_NO_THROW(train(0));
  EXPECT_EQ(compared, "compare the replicas of step 4; compare the replicas of step 8; ");
  if (world().size() == 1) return;
  const store::CheckpointFolder files(base.paths.checkpoints());
  try {
    train(6);
    ADD_FAILURE() << "a flipped bit was not found";
  } catch (const core::AgreedError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::numerical);
    EXPECT_NE(error.text().find(core::format("rank {} (", world().size() - 1)), std::string::npos)
        << error.text();
    EXPECT_NE(error.text().find("model/"), std::string::npos) << error.text();
    EXPECT_EQ(steps, 8) << "the comparison after the flip is that of step 8";
  }
  EXPECT_EQ(files.newest_valid(world()).path, files.file_of(9)) << "that of the run before";
}

/// What every rank's metrics file says of a step, as text; empty where it does not.
std::string line_of(const std::filesystem::path& metrics, int64_t step, const std::string& key) {
  const auto lines = store::read_json_lines(metrics, 1000);
  std::string found;
  for (const auto& line : lines.lines)
    if (static_cast<int64_t>(line.number("step")) == step) found += line.text(key) + ";";
  return found;
}

TEST_F(Trainer, AValidationThatAStopCutIsMadeUp) {
  const auto model = variant_model({});
  deck::DeckValues deck;
  deck.train.steps = 4;
  deck.train.eval_every = 2;
  deck.train.warmup = 1;
  deck.checkpoint.every = 0;
  const auto plan = uniform_plan(model, 1, 1, world().size(), 0, spec::Recompute::none, 12, 1);
  TrainerJob whole(world(), deck, model, plan), parts(world(), deck, model, plan);
  const auto expected = runtime::train(whole.job());
  const store::CheckpointFolder files(parts.paths().checkpoints());
  // Every rank is asked before a step and behind each batch of a validation.
  const auto batches =
      (runtime::validation_windows(*parts.job().valid_data, model.seq) + plan.batch - 1) / plan.batch;
  for (const int64_t step : {2, 4}) {
    auto job = parts.job();
    int64_t asked = 0;
    if (step > 2) job.resume_from = files.file_of(2);
    job.requests = [&] {
      const bool stop = ++asked == (step == 2 ? 0 : batches) + 3;
      return stop && world().rank() == world().size() - 1 ? runtime::Request::stop_requeue
                                                          : runtime::Request::none;
    };
    const auto report = runtime::train(job);
    EXPECT_EQ(report.steps, step);
    EXPECT_EQ(report.stopped, runtime::StopReason::requeue);
    world().barrier();
    EXPECT_EQ(line_of(parts.paths().metrics(), step, "valid_loss_hex"), ";") << "step " << step;
  }
  auto job = parts.job();
  job.resume_from = files.file_of(4);
  const auto report = runtime::train(job);
  EXPECT_EQ(report.steps, 4);
  EXPECT_EQ(report.valid_loss, expected.valid_loss);
  world().barrier();
  for (const int64_t step : {2, 4})
    for (const char* key : {"loss_hex", "valid_loss_hex", "grad_norm_hex"}) {
      const auto text = line_of(whole.paths().metrics(), step, key);
      EXPECT_GT(text.size(), 2U);
      EXPECT_EQ(line_of(parts.paths().metrics(), step, key), text) << key << " of step " << step;
    }
}

}  // namespace
}  // namespace galvatron::testing
