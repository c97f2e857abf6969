// No damage passes: every flipped byte and every cut is found, named, and answered with the file before it.
#include <gtest/gtest.h>

#include <fstream>

#include "core/errors.hpp"
#include "mpi/store/support.hpp"
#include "store/checkpoint.hpp"
#include "store/checkpoint_folder.hpp"
#include "store/sealed_file.hpp"

namespace galvatron::store {
namespace {

using test::Held;
using test::Job;
using test::some_state;

std::vector<TensorInfo> small_tensors() {
  return {{"model/first", {40, 5}, core::DType::f32}, {"model/second", {31}, core::DType::f32}};
}

std::filesystem::path save(Job& job, int64_t step) {
  const auto path = CheckpointFolder(job.folder()).file_of(step);
  auto state = some_state(step);
  state.deck = "[train]\n";
  const auto tensors = small_tensors();
  const auto held = test::random_share(job.world(), tensors, 3, static_cast<uint64_t>(step));
  const auto report = save_checkpoint(job.world(), path, state, tensors, held.pieces, {});
  EXPECT_EQ(report.outcome, SaveOutcome::saved) << report.problem;
  return path;
}

void flip(const std::filesystem::path& path, int64_t at) {
  const File file(path, File::Mode::update);
  std::byte byte{};
  file.read(at, std::span(&byte, 1));
  byte ^= std::byte{0x10};
  file.write(at, std::span(&byte, 1));
}

/// The message of the error with exit code 6 that `body` must throw.
template <typename Body>
std::string refused(const Body& body) {
  try {
    body();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ExitCode::checkpoint) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(Damage, EveryByteOfTheFileIsWatched) {
  Job job;
  const auto path = save(job, 1);
  if (!job.root()) return;
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
  // Every byte of the header, and every 13th behind it: user block, HDF5's own structures, table and data.
  for (int64_t at = 0; at < size; at += at < 64 ? 1 : 13) {
    flip(path, at);
    const auto text = refused([&] { verify_checkpoint(path); });
    ASSERT_NE(text.find(path.string()), std::string::npos) << "byte " << at << " of " << size << ": " << text;
    flip(path, at);
  }
  verify_checkpoint(path);
}

TEST(Damage, CutFilesAreRefused) {
  Job job;
  const auto path = save(job, 1);
  if (!job.root()) return;
  const auto copy = job.folder() / "copy";
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
  for (const int64_t length : {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{64}, int64_t{4095}, int64_t{4096},
                               int64_t{4097}, size / 2, size - 1, size + 1}) {
    std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(copy, static_cast<uintmax_t>(length));
    const auto text = refused([&] { read_state(copy); });
    EXPECT_NE(text.find(copy.string()), std::string::npos) << length << " of " << size << " bytes: " << text;
  }
  refused([&] { read_state(job.folder() / "absent.h5"); });
}

TEST(Damage, LoadingNamesFileTensorAndBlockOnEveryRank) {
  Job job;
  const auto path = save(job, 1);
  const auto tensors = small_tensors();
  const auto rows = test::rows_in(path);
  const auto& hurt = rows.back();
  ASSERT_EQ(hurt.tensor, 1);
  job.world().barrier();
  if (job.root()) flip(path, hurt.address + hurt.bytes - 1);
  job.world().barrier();
  Held wanted;  // only the last rank asks for what is hurt
  if (job.world().rank() == job.world().size() - 1) wanted.add(tensors, 1, 30, 1);
  const auto text = refused([&] { load_checkpoint(job.world(), path, tensors, wanted.pieces); });
  EXPECT_NE(text.find(path.string()), std::string::npos) << text;
  EXPECT_NE(text.find("'model/second'"), std::string::npos) << text;
  EXPECT_NE(text.find("elements " + std::to_string(hurt.offset) + " to 31"), std::string::npos) << text;
  Held sound;
  sound.add(tensors, 0, 0, 200);
  load_checkpoint(job.world(), path, tensors, sound.pieces);  // what is whole can still be read
}

TEST(Damage, TheNewestWholeFileIsFound) {
  Job job;
  const CheckpointFolder folder(job.folder());
  EXPECT_FALSE(folder.newest_valid(job.world()).found());
  const auto first = save(job, 9);
  const auto second = save(job, 10);
  const auto third = save(job, 100);
  EXPECT_EQ(folder.newest_valid(job.world()).path, third);
  const auto rows = test::rows_in(third);
  job.world().barrier();
  if (job.root()) {
    flip(third, rows[0].address);
    std::filesystem::resize_file(second, 5000);
  }
  job.world().barrier();
  const auto found = folder.newest_valid(job.world());
  EXPECT_EQ(found.path, first);
  ASSERT_EQ(found.rejected.size(), 2U);
  EXPECT_NE(found.rejected[0].find("step-000100.h5: damaged: tensor 'model/first'"), std::string::npos)
      << found.rejected[0];
  EXPECT_NE(found.rejected[1].find("step-000010.h5: 5000 of"), std::string::npos) << found.rejected[1];
}

TEST(Damage, AKilledSaveLeavesTheOldFileAndIsSweptUp) {
  Job job;
  const CheckpointFolder folder(job.folder());
  const auto path = save(job, 1);
  auto left_over = folder.file_of(2);
  left_over += ".tmp";
  if (job.root()) {
    // What a save killed before its seal leaves: everything but the header.
    std::filesystem::copy_file(path, left_over);
    const File file(left_over, File::Mode::update);
    file.write(0, std::vector<std::byte>(64));
    std::ofstream(job.folder() / "step-notes.h5.tmp") << "somebody's";
  }
  job.world().barrier();
  EXPECT_EQ(folder.newest_valid(job.world()).path, path);
  EXPECT_EQ(save(job, 2), folder.file_of(2)) << "a left-over of the same name is no obstacle";
  EXPECT_FALSE(std::filesystem::exists(left_over));
  job.world().barrier();
  if (!job.root()) return;
  std::ofstream(job.folder() / "step-000003.h5.tmp") << "torn";
  folder.remove_unfinished();
  EXPECT_FALSE(std::filesystem::exists(job.folder() / "step-000003.h5.tmp"));
  EXPECT_TRUE(std::filesystem::exists(job.folder() / "step-notes.h5.tmp"));
}

}  // namespace
}  // namespace galvatron::store
