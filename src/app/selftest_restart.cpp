// galvatron selftest restart: checkpoints on this file system, with these ranks, prove themselves.

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "app/ranks.hpp"
#include "app/selftest.hpp"
#include "comm/watchdog.hpp"
#include "core/format.hpp"
#include "core/log.hpp"
#include "core/units.hpp"
#include "kernels/kernels.hpp"
#include "plan/by_hand.hpp"
#include "runtime/trainer.hpp"
#include "store/checkpoint_folder.hpp"
#include "store/checkpoint_probe.hpp"
#include "store/dataset.hpp"
#include "store/sealed_file.hpp"

namespace galvatron::app {
namespace {

constexpr int64_t half = 4, whole = 8;
/// Relative: what other orders of summation may change in a few steps of fp32.
constexpr double loss_bound = 1e-5;

class RestartTest {
 public:
  RestartTest(Context& context, std::filesystem::path folder)
      : context_(context),
        world_(context.ranks->world()),
        device_(context.ranks->device()),
        folder_(std::move(folder)),
        kernels_(kernels::make_kernels(device_, 1)),
        model_(spec::model_from_deck(deck_of(folder_).model)),
        data_(store::make_synthetic_dataset(1, "selftest", 20000, model_.vocab)) {}

  core::ExitCode run();

 private:
  static deck::DeckValues deck_of(const std::filesystem::path& out) {
    deck::DeckValues deck;
    deck.run.out = out.string();
    deck.model.layers = 2;
    deck.model.hidden = 48;
    deck.model.heads = deck.model.kv_heads = 12;
    deck.model.ffn = 96;
    deck.model.vocab = 61;
    deck.model.seq = 24;
    deck.train.steps = whole;
    deck.train.warmup = 2;
    deck.train.eval_every = 0;
    deck.checkpoint.every = 2;
    deck.checkpoint.keep = whole;
    return deck;
  }

  plan::Plan plan_of(deck::PlanSection section) const {
    return plan::plan_by_hand(plan::uniform_from_deck(section, world_.size(), batch()), model_);
  }
  int64_t batch() const { return 4 * int64_t{world_.size()}; }

  runtime::TrainReport train(const std::string& name, const plan::Plan& plan, int64_t end,
                             std::optional<std::filesystem::path> from = {});
  std::filesystem::path file(const std::string& name, int64_t step) const {
    return store::CheckpointFolder(folder_ / name / "checkpoints").file_of(step);
  }
  void says(bool right, const std::string& what);
  bool same_tensors(const std::filesystem::path& a, const std::filesystem::path& b);
  void passes_over_damage();
  void other_plans(double expected);

  Context& context_;
  comm::World& world_;
  device::Device& device_;
  std::filesystem::path folder_;
  std::unique_ptr<kernels::Kernels> kernels_;
  spec::ModelSpec model_;
  std::unique_ptr<store::Dataset> data_;
  int64_t passed_ = 0, failed_ = 0;
};

void RestartTest::says(bool right, const std::string& what) {
  ++(right ? passed_ : failed_);
  context_.console.info(core::format("  {:<7} {}", right ? "ok" : "FAILED", what));
}

runtime::TrainReport RestartTest::train(const std::string& name, const plan::Plan& plan, int64_t end,
                                        std::optional<std::filesystem::path> from) {
  auto deck = deck_of(folder_ / name);
  deck.train.stop_after = end;
  const store::RunPaths paths{deck.run.out};
  world_.agree("make a folder", [&] {
    if (world_.rank() == 0) std::filesystem::create_directories(paths.checkpoints());
  });
  core::SilentLog log;
  return runtime::train({.deck = deck,
                         .model = model_,
                         .plan = plan,
                         .world = world_,
                         .device = device_,
                         .kernels = *kernels_,
                         .train_data = *data_,
                         .paths = paths,
                         .run_id = "selftest",
                         .resume_from = std::move(from),
                         .pat = [this](std::string_view action) { context_.watchdog->pat(action); },
                         .log = log});
}

/// Block by block; written under the same plan.
bool RestartTest::same_tensors(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto left = store::open_sealed(a, store::SealedKind::checkpoint),
             right = store::open_sealed(b, store::SealedKind::checkpoint);
  store::SealedRows left_rows(left), right_rows(right);
  while (true) {
    const auto l = left_rows.next(), r = right_rows.next();
    if (!l && !r) return true;
    if (!l || !r || l->tensor != r->tensor || l->offset != r->offset || l->hash != r->hash) return false;
  }
}

/// The newest file loses a bit; the one before it is found.
void RestartTest::passes_over_damage() {
  const store::CheckpointFolder files(folder_ / "parts" / "checkpoints");
  world_.agree("damage a file", [&] {
    if (world_.rank() != 0) return;
    const auto sealed = store::open_sealed(files.file_of(whole), store::SealedKind::checkpoint);
    const store::File file(files.file_of(whole), store::File::Mode::update);
    std::byte byte{};
    file.read(sealed.runs.back().first.address, std::span(&byte, 1));
    byte ^= std::byte{1};
    file.write(sealed.runs.back().first.address, std::span(&byte, 1));
  });
  const auto found = files.newest_valid(world_);
  says(found.path == files.file_of(whole - 2) && found.rejected.size() == 1,
       "one flipped bit: the newest file is refused, the one before it is found");
}

void RestartTest::other_plans(double expected) {
  struct Try {
    const char* name;
    deck::PlanSection plan;
  };
  std::vector<Try> tries(3);
  tries[0].name = "tensor parallel";
  tries[0].plan.tp = world_.size();
  tries[1].name = "pipeline parallel";
  tries[1].plan.pp = world_.size();
  tries[2].name = "data parallel, ZeRO-1";
  tries[2].plan.zero = 1;
  for (const auto& other : tries) {
    std::optional<plan::Plan> plan;
    try {
      plan = plan_of(other.plan);
    } catch (const core::UserError&) {
      context_.console.info(core::format("  {:<7} {}: this model does not divide by {} ranks", "skipped",
                                         other.name, world_.size()));
      continue;
    }
    const auto report = train(other.name, *plan, whole, file("parts", half));
    says(std::abs(report.loss - expected) <= loss_bound * expected,
         core::format("{} takes it up: loss {:.9f}, expected {:.9f}", other.name, report.loss, expected));
  }
}

core::ExitCode RestartTest::run() {
  auto& console = context_.console;
  // 1. Whether, and how, the folder can be written to.
  console.info(core::format("selftest restart: {} ranks, in {}", world_.size(), folder_.string()));
  for (const auto io : {store::CheckpointIo::independent, store::CheckpointIo::collective}) {
    const auto probed = store::probe_checkpoint_io(world_, folder_, io);
    console.info(core::format("  {:<7} checkpoint.io = {}: {}", "probe", store::name_of(io),
                              probed.problem.empty() ? "works" : probed.problem));
  }
  // 2. Eight steps at once, or four and four.
  deck::PlanSection sharded;
  sharded.zero = world_.size() > 1 ? 3 : 0;
  const auto plan = plan_of(sharded);
  const auto begin = runtime::now();
  const auto at_once = train("whole", plan, whole);
  train("parts", plan, half);
  const auto resumed = train("parts", plan, whole, file("parts", half));
  says(resumed.resumed_from == half, core::format("a run that stopped at step {} goes on from it", half));
  says(resumed.loss == at_once.loss,
       core::format("the loss of step {} has the same bits: {:.9f}", whole, at_once.loss));
  says(same_tensors(file("whole", whole), file("parts", whole)),
       "weights and moments have the same bits as without the stop");
  // 3. Other plans, and damage.
  other_plans(at_once.loss);
  passes_over_damage();
  console.info(core::format("{} passed, {} failed, in {}", passed_, failed_,
                            core::format_seconds(runtime::now() - begin)));
  context_.result.set("test", "restart");
  context_.result.set("passed", passed_);
  context_.result.set("failed", failed_);
  return failed_ == 0 ? core::ExitCode::finished : core::ExitCode::checkpoint;
}

}  // namespace

core::ExitCode selftest_restart(Context& context) {
  auto& world = context.ranks->world();
  const auto text = read_shared(world, "make a folder for the test", [&] {
    std::filesystem::path parent = context.line.out.empty() ? "." : context.line.out;
    std::filesystem::create_directories(parent);
    auto name = (parent / "selftest-restart-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw core::UserError(core::ExitCode::environment,
                            core::format("cannot make a folder in {}; name one with --out", parent.string()));
    return name;
  });
  const std::filesystem::path folder = text;
  const auto code = RestartTest(context, folder).run();
  world.barrier();
  std::error_code ignored;
  if (world.rank() == 0 && code == core::ExitCode::finished) std::filesystem::remove_all(folder, ignored);
  return code;
}

}  // namespace galvatron::app
