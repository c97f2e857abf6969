// What any plan on any number of ranks saved, any other takes up and hands on: every tensor, moments
// included, has the same bytes after load and save. The jobs of all sizes write first, then those of all
// sizes read what all have written; the folder comes from the environment.

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "store/checkpoint_folder.hpp"
#include "support/plan_job.hpp"
#include "support/training_run.hpp"

namespace galvatron::testing {
namespace {

constexpr int64_t batch = 24;  // of which every number of ranks here takes a share

class Elastic : public PlanJob {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("GALVATRON_TEST_FOLDER");
    ASSERT_NE(folder, nullptr) << "run through CTest, which names the folder";
    folder_ = folder;
  }

  spec::ModelSpec model() const { return variant_model({true, true, 4}); }

  /// ZeRO-3, tensor and pipeline parallel as far as they go, both of them with replicas, and stages and
  /// layers that are all cut differently.
  std::vector<plan::Plan> plans() {
    const auto n = world().size();
    struct Uniform {
      int32_t pp, tp, dp, zero;
      int64_t micros;
    };
    std::vector<plan::Plan> list;
    for (const auto& u : {Uniform{1, 1, n, 3, 1}, Uniform{1, n, 1, 0, 1}, Uniform{n, 1, 1, 0, 2},
                          Uniform{2, 1, n / 2, 1, 2}, Uniform{1, 2, n / 2, 2, 1}}) {
      if (u.pp * u.tp * u.dp != n || u.pp > model().size()) continue;
      auto plan = uniform_plan(model(), u.pp, u.tp, u.dp, u.zero, spec::Recompute::none, batch, u.micros);
      if (plan::faults_of(plan, model(), n).empty()) list.push_back(std::move(plan));
    }
    const uint64_t mixed = play_everything() ? 6 : 2;
    for (uint64_t i = 0; i < mixed; ++i) list.push_back(mixed_plan(model(), n, batch, test_seed() + 9, i));
    return list;
  }

  /// Written by jobs of all sizes, in an order that all ranks share.
  std::vector<std::filesystem::path> files() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().filename().string().starts_with("ranks")) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }

  std::filesystem::path file(const std::string& name) const { return folder_ / (name + ".h5"); }

 private:
  std::filesystem::path folder_;
};

/// All tensors of a checkpoint, one after the other; the same list whoever wrote it.
std::vector<std::vector<std::byte>> tensors_in(const std::filesystem::path& file) {
  const auto alone = comm::make_dry_world(0, 1, 1);
  const auto tensors = store::read_tensors(file);
  std::vector<std::vector<std::byte>> bytes;
  std::vector<store::Piece> pieces;
  for (size_t t = 0; t < tensors.size(); ++t) {
    auto& room =
        bytes.emplace_back(static_cast<size_t>(tensors[t].elements() * core::size_of(tensors[t].dtype)));
    pieces.push_back({static_cast<int64_t>(t), 0, tensors[t].elements(), room.data()});
  }
  store::load_checkpoint(*alone, file, tensors, pieces);
  return bytes;
}

TEST_F(Elastic, Write) {
  const auto list = plans();
  for (size_t i = 0; i < list.size(); ++i) {
    SCOPED_TRACE(describe(list[i]));
    TrainingRun run(world(), list[i], model());
    run.train_to(2);
    const auto name = "ranks" + std::to_string(world().size()) + "-plan" + std::to_string(i);
    ASSERT_EQ(run.save(file(name)).outcome, store::SaveOutcome::saved);
  }
}

TEST_F(Elastic, HandOn) {
  const auto list = plans();
  const auto written = files();
  ASSERT_GE(written.size(), 6U) << "of six numbers of ranks";
  const auto names = runtime::tensors_of(model(), core::DType::f32);
  const auto again = file("again" + std::to_string(world().size()));
  size_t played = 0;
  for (size_t f = 0; f < written.size(); ++f) {
    for (size_t p = 0; p < list.size(); ++p) {
      // Every file is taken up by every second number of ranks, plan after plan.
      const bool chosen = p == f % list.size() && (f + static_cast<size_t>(world().size() + 1) / 2) % 2 == 0;
      if (!play_everything() && !chosen) continue;
      SCOPED_TRACE(written[f].filename().string() + " taken up by " + describe(list[p]));
      TrainingRun run(world(), list[p], model());
      run.load(written[f]);
      ASSERT_EQ(run.step(), 2);
      ASSERT_EQ(run.save(again).outcome, store::SaveOutcome::saved);
      ++played;
      if (world().rank() == 0) {
        EXPECT_EQ(store::read_tensors(again), names);
        const auto before = tensors_in(written[f]), after = tensors_in(again);
        ASSERT_EQ(before.size(), names.size());
        for (size_t t = 0; t < names.size(); ++t)
          EXPECT_TRUE(before[t] == after[t]) << names[t].name << " has other bytes";
      }
      world().barrier();
    }
  }
  say("handed on", played, written.size() * list.size());
  if (world().rank() == 0) std::filesystem::remove(again);
}

/// The moments are not just zeros that any loader would bring back.
TEST_F(Elastic, MomentsAreThere) {
  if (world().rank() != 0) return;
  const auto written = files();
  ASSERT_FALSE(written.empty());
  const auto names = store::read_tensors(written[0]);
  const auto bytes = tensors_in(written[0]);
  for (size_t t = 0; t < names.size(); ++t) {
    if (!names[t].name.starts_with("optimizer/")) continue;
    EXPECT_TRUE(std::any_of(bytes[t].begin(), bytes[t].end(), [](std::byte b) { return b != std::byte{0}; }))
        << names[t].name << " is all zeros";
  }
}

}  // namespace
}  // namespace galvatron::testing
