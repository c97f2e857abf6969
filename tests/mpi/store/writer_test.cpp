// Saves behind the steps: what lands in the file is what there was when the save began, whatever happened to
// the memory since, and a failing disk is reported like that of any other save.
#include "store/checkpoint_writer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <utility>

#include "mpi/store/support.hpp"
#include "store/checkpoint_folder.hpp"
#include "store/sealed_file.hpp"

namespace galvatron::store {
namespace {

using test::Held;
using test::Job;
using test::some_state;
using test::some_tensors;

class Writer : public testing::Test {
 protected:
  /// Begins a save of content() with salt `step`, and spoils the memory at once.
  void begin(const std::filesystem::path& folder, int64_t step, const CheckpointOptions& options = {}) {
    const auto tensors = some_tensors();
    auto held = test::random_share(job.world(), tensors, 5, static_cast<uint64_t>(step));
    writer.begin(CheckpointFolder(folder).file_of(step), some_state(step), tensors, held.pieces, options);
    for (const auto& piece : held.pieces) {
      const auto size = core::size_of(tensors[static_cast<size_t>(piece.tensor)].dtype);
      std::memset(piece.data, 0x5a, static_cast<size_t>(piece.count * size));
    }
  }

  void expect_content(int64_t step) {
    const auto tensors = some_tensors();
    Held wanted;
    for (size_t t = 0; t < tensors.size(); ++t)
      wanted.add(tensors, static_cast<int64_t>(t), 0, tensors[t].elements());
    load_checkpoint(job.world(), CheckpointFolder(job.folder()).file_of(step), tensors, wanted.pieces);
    for (size_t t = 0; t < tensors.size(); ++t) {
      const auto bytes = test::content(tensors, static_cast<int64_t>(t), static_cast<uint64_t>(step));
      EXPECT_EQ(std::memcmp(wanted.pieces[t].data, bytes.data(), bytes.size()), 0)
          << tensors[t].name << " of step " << step << " on rank " << job.world().rank();
    }
  }

  Job job;
  std::unique_ptr<device::Device> device = device::make_device(device::DeviceKind::cpu);
  CheckpointWriter writer{job.world(), *device};
};

TEST_F(Writer, WhatChangesAfterTheBeginDoesNotReachTheFile) {
  EXPECT_FALSE(writer.in_flight());
  EXPECT_FALSE(writer.wait().has_value());
  for (const int64_t step : {1, 2, 3}) {
    begin(job.folder(), step);
    EXPECT_TRUE(writer.in_flight());
    // The other world's messages do not disturb these.
    for (int i = 0; i < 20; ++i) {
      int64_t sum = job.world().rank();
      job.world().all_reduce(std::span(&sum, 1), core::ReduceOp::sum);
      ASSERT_EQ(sum, int64_t{job.world().size()} * (job.world().size() - 1) / 2);
    }
    const auto report = writer.wait();
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->outcome, SaveOutcome::saved) << report->problem;
    EXPECT_FALSE(writer.in_flight());
    expect_content(step);
  }
}

TEST_F(Writer, FilesAreThoseOfASaveBetweenSteps) {
  begin(job.folder(), 7);
  writer.wait();
  const auto tensors = some_tensors();
  const auto held = test::random_share(job.world(), tensors, 5, 7);
  const auto direct = job.folder() / "direct.h5";
  save_checkpoint(job.world(), direct, some_state(7), tensors, held.pieces, {});
  const auto behind = CheckpointFolder(job.folder()).file_of(7);
  EXPECT_EQ(std::filesystem::file_size(behind), std::filesystem::file_size(direct));
  EXPECT_EQ(test::blocks_of(behind), test::blocks_of(direct));
}

TEST_F(Writer, RowsThatLieApartAreCopiedWithoutWhatLiesBetween) {
  const std::vector<TensorInfo> tensors = {{"model/matrix", {7, 6}, core::DType::f32}};
  const int64_t ranks = job.world().size(), rank = job.world().rank();
  const auto begin = 6 * rank / ranks, end = 6 * (rank + 1) / ranks;
  std::vector<float> whole(42);
  std::iota(whole.begin(), whole.end(), 1.0F);
  const Piece piece{0, begin, end - begin, reinterpret_cast<std::byte*>(whole.data() + begin), 7, 6, 24};
  const auto path = job.folder() / "matrix.h5";
  writer.begin(path, some_state(1), tensors, std::span(&piece, 1), {});
  EXPECT_EQ(writer.copy_bytes(), 7 * (end - begin) * 4);
  const auto saved = std::exchange(whole, std::vector<float>(42));
  EXPECT_EQ(writer.wait()->outcome, SaveOutcome::saved);
  const Piece all{0, 0, 42, reinterpret_cast<std::byte*>(whole.data())};
  load_checkpoint(job.world(), path, tensors, std::span(&all, 1));
  EXPECT_EQ(whole, saved);
}

TEST_F(Writer, PollTellsOnceWhenItIsOver) {
  std::atomic<int64_t> heard = 0;
  std::atomic<bool> rests = false;
  CheckpointOptions options;
  options.progress = [&](std::string_view text) { text.empty() ? rests = true : ++heard; };
  begin(job.folder(), 1, options);
  std::optional<SaveReport> report;
  while (!(report = writer.poll())) std::this_thread::yield();
  EXPECT_EQ(report->outcome, SaveOutcome::saved) << report->problem;
  EXPECT_FALSE(writer.poll().has_value());
  EXPECT_GT(heard, 0);
  EXPECT_TRUE(rests);
}

TEST_F(Writer, AFailingDiskIsReportedAndTheNextSaveSucceeds) {
  begin(job.folder() / "absent", 1);
  const auto report = writer.wait();
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->outcome, SaveOutcome::failed);
  EXPECT_NE(report->problem.find("absent"), std::string::npos) << report->problem;
  begin(job.folder(), 2);
  EXPECT_EQ(writer.wait()->outcome, SaveOutcome::saved);
  expect_content(2);
}

TEST_F(Writer, TheEndWaitsForTheSaveInFlight) {
  {
    CheckpointWriter short_lived(job.world(), *device);
    const auto tensors = some_tensors();
    const auto held = test::random_share(job.world(), tensors, 5, 4);
    short_lived.begin(CheckpointFolder(job.folder()).file_of(4), some_state(4), tensors, held.pieces, {});
  }
  job.world().barrier();
  verify_checkpoint(CheckpointFolder(job.folder()).file_of(4));
}

}  // namespace
}  // namespace galvatron::store
