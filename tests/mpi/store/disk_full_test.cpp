// A full disk costs a checkpoint, not the run: the save reports it, the older file stays, and once there is
// room the next save succeeds.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "core/errors.hpp"
#include "mpi/store/support.hpp"
#include "store/checkpoint.hpp"
#include "store/checkpoint_folder.hpp"
#include "store/checkpoint_probe.hpp"

namespace galvatron::store {
namespace {

using test::Job;

/// Lets no file of this process grow beyond `bytes`, while it lives.
class FileLimit {
 public:
  explicit FileLimit(int64_t bytes) {
    before_signal_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{static_cast<rlim_t>(bytes), before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, before_signal_);
  }

 private:
  rlimit before_{};
  void (*before_signal_)(int) = nullptr;
};

SaveReport save(Job& job, const std::filesystem::path& folder, int64_t step) {
  const auto tensors = test::some_tensors();
  const auto held = test::random_share(job.world(), tensors, 5, static_cast<uint64_t>(step));
  return save_checkpoint(job.world(), CheckpointFolder(folder).file_of(step), test::some_state(step), tensors,
                         held.pieces, {});
}

void expect_failed_save(Job& job, const std::filesystem::path& folder, const SaveReport& report) {
  EXPECT_EQ(report.outcome, SaveOutcome::failed);
  EXPECT_FALSE(report.problem.empty());
  EXPECT_EQ(CheckpointFolder(folder).newest_valid(job.world()).path, CheckpointFolder(folder).file_of(1));
  EXPECT_FALSE(std::filesystem::exists(folder / "step-000002.h5"));
  EXPECT_FALSE(std::filesystem::exists(folder / "step-000002.h5.tmp")) << "a failed save takes no room";
}

TEST(DiskFull, AFileThatMayNotGrowFailsTheSaveOnly) {
  Job job;
  ASSERT_EQ(save(job, job.folder(), 1).outcome, SaveOutcome::saved);
  for (const int64_t limit : {1000, 150'000, 1'000'000}) {  // metadata; metadata; tensor data
    SaveReport report;
    {
      const FileLimit limited(limit);
      report = save(job, job.folder(), 2);
    }
    expect_failed_save(job, job.folder(), report);
  }
  EXPECT_EQ(save(job, job.folder(), 2).outcome, SaveOutcome::saved);
  verify_checkpoint(CheckpointFolder(job.folder()).file_of(2));
}

TEST(DiskFull, OneRankThatCannotWriteFailsTheSaveForAll) {
  Job job;
  ASSERT_EQ(save(job, job.folder(), 1).outcome, SaveOutcome::saved);
  if (job.world().size() == 1) GTEST_SKIP() << "needs a second rank";
  SaveReport report;
  {
    const FileLimit limited(job.world().rank() == 1 ? 1000 : int64_t{1} << 40);
    report = save(job, job.folder(), 2);
  }
  expect_failed_save(job, job.folder(), report);
  EXPECT_EQ(report.problem.rfind("rank 1 ", 0), 0U) << report.problem;
}

TEST(DiskFull, TheProbeSaysSoAtTheStart) {
  Job job;
  probe_checkpoint_folder(job.world(), job.folder());
  EXPECT_TRUE(CheckpointFolder(job.folder()).list().empty());
  EXPECT_TRUE(std::filesystem::is_empty(job.folder()));
  try {
    probe_checkpoint_folder(job.world(), job.folder() / "absent");
    ADD_FAILURE() << "no error";
  } catch (const core::AgreedError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::environment);
  }
}

TEST(DiskFull, AFullFileSystemFailsTheSaveOnly) {
  Job job;
  const auto mounted = job.folder() / "tiny";
  std::string problem;
  if (job.root()) {
    std::filesystem::create_directory(mounted);
    if (::mount("tmpfs", mounted.c_str(), "tmpfs", 0, "size=8m") != 0) problem = std::strerror(errno);
  }
  problem = job.world().broadcast(problem, 0);
  if (!problem.empty()) GTEST_SKIP() << "cannot mount a small file system: " << problem;
  EXPECT_EQ(save(job, mounted, 1).outcome, SaveOutcome::saved);
  const auto report = save(job, mounted, 2);
  expect_failed_save(job, mounted, report);
  EXPECT_NE(report.problem.find("no space for"), std::string::npos) << report.problem;
  job.world().barrier();
  if (!job.root()) return;
  EXPECT_EQ(::umount(mounted.c_str()), 0) << std::strerror(errno);
}

TEST(DiskFull, AFolderThatIsNotThereFailsTheSaveOnly) {
  Job job;
  const auto report = save(job, job.folder() / "absent", 1);
  EXPECT_EQ(report.outcome, SaveOutcome::failed);
  EXPECT_NE(report.problem.find("absent"), std::string::npos) << report.problem;
}

}  // namespace
}  // namespace galvatron::store
