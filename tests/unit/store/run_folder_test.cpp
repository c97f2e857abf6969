// Who may use a run folder: the first, and whoever comes after the first has gone.
#include "store/run_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

#include "core/errors.hpp"
#include "support/folder.hpp"

namespace galvatron::store {
namespace {

JobIdentity me(const std::string& job = "") {
  return {job, "here", ::getpid()};
}

/// A lock file as another process would have left it, `age` seconds ago.
void leave_lock(const test::Folder& folder, const JobIdentity& who, int64_t age) {
  const auto path = folder.write("run/lock", "job " + who.job + "\nhost " + who.host + "\npid " +
                                                 std::to_string(who.pid) + "\ntoken 1\n");
  const timespec then{std::time(nullptr) - age, 0};
  const timespec times[2] = {then, then};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

/// The number of a process that has ended.
int64_t dead_pid() {
  const auto child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

std::string refusal(const test::Folder& folder, const JobIdentity& who) {
  try {
    const RunFolder run(folder.path() / "run", who);
  } catch (const core::UserError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::environment);
    return error.what();
  }
  return "not refused";
}

TEST(RunFolder, IsMadeLockedAndGivenBack) {
  const test::Folder folder;
  {
    const RunFolder run(folder.path() / "run", me());
    EXPECT_TRUE(run.still_ours());
    EXPECT_TRUE(run.notices().empty());
    const auto text = refusal(folder, me("77"));
    EXPECT_NE(text.find("in use by process " + std::to_string(::getpid()) + " on here"), std::string::npos)
        << text;
    EXPECT_TRUE(run.still_ours());
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "run" / "lock"));
  EXPECT_EQ(refusal(folder, me()), "not refused");
}

TEST(RunFolder, ALiveJobElsewhereIsRespected) {
  const test::Folder folder;
  leave_lock(folder, {"12", "elsewhere", 1}, 60);
  const auto text = refusal(folder, me("13"));
  EXPECT_NE(text.find("in use by job 12, process 1 on elsewhere"), std::string::npos) << text;
}

TEST(RunFolder, StaleLocksAreTakenOverAloud) {
  const auto notice = [](const JobIdentity& holder, int64_t age, const JobIdentity& who) {
    const test::Folder folder;
    leave_lock(folder, holder, age);
    const RunFolder run(folder.path() / "run", who);
    EXPECT_TRUE(run.still_ours());
    return run.notices().empty() ? std::string("silent") : run.notices().front();
  };
  EXPECT_NE(notice({"12", "elsewhere", 1}, 200, me("13")).find("no heartbeat for"), std::string::npos);
  EXPECT_NE(notice({"12", "elsewhere", 1}, 0, me("12")).find("earlier attempt of the same job"),
            std::string::npos);
  EXPECT_NE(notice({"", "here", dead_pid()}, 0, me()).find("that process is gone"), std::string::npos);
}

TEST(RunFolder, NoticesThatItWasTakenOver) {
  const test::Folder folder;
  RunFolder first(folder.path() / "run", me("12"));
  {
    RunFolder second(folder.path() / "run", me("12"));
    EXPECT_FALSE(first.still_ours());
    EXPECT_TRUE(second.still_ours());
    EXPECT_FALSE(first.lost()) << "before a heartbeat looked";
    first.beat();
    second.beat();
    EXPECT_TRUE(first.lost());
    EXPECT_FALSE(second.lost());
  }
  EXPECT_FALSE(first.still_ours());
}

TEST(RunFolder, TheIdLastsUntilRenewed) {
  const test::Folder folder;
  const auto id_of = [&](RunFolder::Contents contents) {
    return RunFolder(folder.path() / "run", me(), contents).id();
  };
  const auto first = id_of(RunFolder::Contents::keep);
  EXPECT_EQ(first.size(), 16U);
  EXPECT_EQ(id_of(RunFolder::Contents::keep), first);
  EXPECT_NE(id_of(RunFolder::Contents::renew), first);
}

TEST(RunFolder, TracesOfAFailedAttemptAreMovedAside) {
  const test::Folder folder;
  for (const char* text : {"one", "two"}) {
    folder.write("run/failure.txt", text);
    folder.write("run/log/rank-0.log", text);
    const RunFolder run(folder.path() / "run", me());
    EXPECT_EQ(run.notices().size(), 2U);
    EXPECT_FALSE(std::filesystem::exists(run.paths().failure()));
    EXPECT_FALSE(std::filesystem::exists(run.paths().log(0)));
  }
  EXPECT_EQ(folder.read("run/failure-1.txt"), "one");
  EXPECT_EQ(folder.read("run/failure-2.txt"), "two");
  EXPECT_EQ(folder.read("run/log-2/rank-0.log"), "two");
}

TEST(RunFolder, AnothersFolderIsRefused) {
  const test::Folder folder;
  const auto path = folder.path() / "run";
  std::filesystem::create_directory(path);
  if (::geteuid() != 0 || ::chown(path.c_str(), 12345, 12345) != 0)
    GTEST_SKIP() << "only root can make a folder that belongs to somebody else";
  EXPECT_NE(refusal(folder, me()).find("belongs to user 12345"), std::string::npos);
}

TEST(RunFolder, AFileInItsPlaceIsRefused) {
  const test::Folder folder;
  folder.write("run", "a file");
  EXPECT_NE(refusal(folder, me()).find("cannot make the run folder"), std::string::npos);
}

}  // namespace
}  // namespace galvatron::store
