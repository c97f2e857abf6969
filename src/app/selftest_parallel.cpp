// galvatron selftest parallel: the ranks of this job compute what one rank computes, however the work is
// split. A wrong answer here is a fault of the MPI library, of the processors or of this program, and never
// noise: the bound is known, and the same plan played twice must give the same bits.

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/ranks.hpp"
#include "app/selftest.hpp"
#include "comm/watchdog.hpp"
#include "core/format.hpp"
#include "core/table.hpp"
#include "kernels/kernels.hpp"
#include "plan/by_hand.hpp"
#include "runtime/loader.hpp"
#include "runtime/session.hpp"
#include "store/blend.hpp"
#include "store/dataset.hpp"

namespace galvatron::app {
namespace {

constexpr int64_t steps = 5;
/// Relative, of the loss and the gradient norm of each step: logits are rounded to 6e-8 in fp32 and partial
/// sums are added in another order; AdamW feeds that back five times.
constexpr double bound = 1e-5;

struct Step {
  double loss = 0, gradient_norm = 0;
  bool operator==(const Step&) const = default;
};

struct Split {
  std::string name;
  plan::UniformPlan wish;
};

/// Largest divisor of `world` among those of `number`.
int64_t common_divisor(int64_t world, int64_t number, int64_t most) {
  int64_t best = 1;
  for (int64_t d = 1; d <= most; ++d)
    if (world % d == 0 && number % d == 0) best = d;
  return best;
}

class ParallelTest {
 public:
  explicit ParallelTest(Context& context)
      : context_(context),
        world_(context.ranks->world()),
        device_(context.ranks->device()),
        kernels_(kernels::make_kernels(device_, 1)),
        model_(model()),
        batch_(2 * world_.size()),
        data_(store::make_synthetic_dataset(3, "selftest", 20000, model_.vocab)),
        order_(3, data_->tokens(), model_.seq, "selftest data") {}

  core::ExitCode run();

 private:
  static spec::ModelSpec model() {
    deck::ModelSection section;
    section.layers = 4;
    section.hidden = 48;
    section.heads = section.kv_heads = 12;
    section.ffn = 96;
    section.vocab = 61;
    section.seq = 24;
    return spec::model_from_deck(section);
  }

  std::vector<Split> splits() const;
  std::vector<Step> play(comm::World& world, const plan::Plan& plan);
  double judge(const Split& split, const std::vector<Step>& reference);

  Context& context_;
  comm::World& world_;
  device::Device& device_;
  std::unique_ptr<kernels::Kernels> kernels_;
  spec::ModelSpec model_;
  int64_t batch_;
  std::unique_ptr<store::Dataset> data_;
  store::SampleOrder order_;
  std::vector<core::Row> rows_{{"split", "worst deviation", "verdict"}};
  int64_t wrong_ = 0;
};

std::vector<Split> ParallelTest::splits() const {
  const int64_t n = world_.size();
  const auto tp = common_divisor(n, 12, 12), pp = common_divisor(n, 4, 4),
             two = n % 2 == 0 ? int64_t{2} : int64_t{1};
  const auto wish = [&](int64_t pipeline, int64_t tensor, int32_t zero) {
    plan::UniformPlan plan;
    plan.world = n;
    plan.batch = batch_;
    plan.pp = pipeline;
    plan.tp = tensor;
    plan.zero = zero;
    return plan;
  };
  std::vector<Split> all = {{"data", wish(1, 1, 0)}, {"ZeRO-1", wish(1, 1, 1)}, {"ZeRO-3", wish(1, 1, 3)}};
  if (tp > 1) all.push_back({core::format("tensor {}", tp), wish(1, tp, 0)});
  if (pp > 1) all.push_back({core::format("pipeline {}", pp), wish(pp, 1, 0)});
  if (two > 1) {
    auto ulysses = wish(1, 1, 1), ring = wish(1, 1, 1);
    ulysses.sp = 2;
    ring.cp = 2;
    all.push_back({"sequence 2", ulysses});
    all.push_back({"context 2", ring});
  }
  if (n % 4 == 0) {
    all.push_back({"tensor 2, pipeline 2", wish(2, 2, 1)});
    auto recomputed = wish(1, 2, 3);
    recomputed.recompute = spec::Recompute::full;
    all.push_back({"tensor 2, ZeRO-3, recomputed", recomputed});
  }
  return all;
}

std::vector<Step> ParallelTest::play(comm::World& world, const plan::Plan& plan) {
  runtime::SessionOptions options;
  options.seed = 3;
  options.pat = [this](std::string_view action) { context_.watchdog->pat(action); };
  runtime::Session session(world, device_, *kernels_, plan, model_, options);
  runtime::Loader loader(
      *data_, [this](int64_t sample) { return order_.offset_of(sample); }, plan, model_, world.rank());
  deck::TrainSection train;
  train.steps = steps;
  train.warmup = 1;
  std::vector<Step> done;
  for (int64_t step = 0; step < steps; ++step) {
    loader.seek(step * plan.batch);
    const auto result = session.step(loader, train, step);
    done.push_back({result.loss, result.gradient_norm});
  }
  return done;
}

/// Collective: plays a split twice; the worst relative deviation of any rank.
double ParallelTest::judge(const Split& split, const std::vector<Step>& reference) {
  const auto plan = plan::plan_by_hand(split.wish, model_);
  const auto once = play(world_, plan), again = play(world_, plan);
  double worst = once == again ? 0.0 : 1.0;
  const bool repeats = worst == 0.0;
  for (size_t s = 0; s < reference.size(); ++s) {
    worst = std::max(worst, std::abs(once[s].loss / reference[s].loss - 1));
    worst = std::max(worst, std::abs(once[s].gradient_norm / reference[s].gradient_norm - 1));
    if (!std::isfinite(once[s].loss)) worst = 1.0;
  }
  int64_t odd = repeats ? 0 : 1;
  world_.all_reduce(std::span(&worst, 1), core::ReduceOp::max);
  world_.all_reduce(std::span(&odd, 1), core::ReduceOp::max);
  const bool right = worst <= bound;
  if (!right) ++wrong_;
  rows_.push_back({split.name, core::format("{:.1e}", worst),
                   right      ? "ok"
                   : odd != 0 ? "WRONG: other bits when repeated"
                              : "WRONG"});
  return worst;
}

core::ExitCode ParallelTest::run() {
  plan::UniformPlan single;
  single.batch = batch_;
  const auto alone = comm::make_dry_world(0, 1, 1);
  const auto reference = play(*alone, plan::plan_by_hand(single, model_));
  double worst = 0;
  for (const auto& split : splits()) worst = std::max(worst, judge(split, reference));
  context_.console.print(core::table(rows_, {2}));
  context_.console.print(core::format("{} steps of a small GPT on {} ranks against one rank; bound {:.0e}\n",
                                      steps, world_.size(), bound));
  context_.result.set("plans", static_cast<int64_t>(rows_.size()) - 1);
  context_.result.set("wrong", wrong_);
  context_.result.set("worst", worst);
  if (wrong_ == 0) return core::ExitCode::finished;
  context_.console.error(
      "galvatron: these ranks do not compute what one rank computes; try other components of MPI "
      "(OMPI_MCA_btl=tcp,self, OMPI_MCA_coll_tuned_priority=0) and other nodes, then report the table");
  return core::ExitCode::numerical;
}

}  // namespace

core::ExitCode selftest_parallel(Context& context) {
  return ParallelTest(context).run();
}

}  // namespace galvatron::app
