// The table at the end of a run adds up: no second is counted in two sections.

#include "runtime/trainer.hpp"

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

}  // namespace
}  // namespace galvatron::testing
