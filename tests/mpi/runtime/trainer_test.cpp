// The table at the end of a run adds up: no second is counted in two sections.

#include "runtime/trainer.hpp"

#include <string>
#include <tuple>

#include "store/checkpoint_folder.hpp"
#include "store/sealed_file.hpp"
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
  for (const auto& row : store::open_sealed(file, store::SealedKind::checkpoint).rows)
    blocks.emplace_back(row.tensor, row.offset, row.count, row.hash);
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

}  // namespace
}  // namespace galvatron::testing
