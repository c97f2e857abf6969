// The lock is made by a hard link, which is atomic on network file systems too, where exclusive creation once
// was not; a stale one is replaced by a rename.
#include "store/run_folder.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <random>
#include <sstream>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "store/file.hpp"

namespace galvatron::store {
namespace {

namespace fs = std::filesystem;

constexpr double heartbeat_seconds = 20.0;

[[noreturn]] void refuse(const std::string& text) {
  throw core::UserError(core::ExitCode::environment, text);
}

std::string small_file(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_small_file(const fs::path& path, const std::string& text) {
  const File file(path, File::Mode::create);
  file.write(0, std::as_bytes(std::span(text)));
  file.sync();
}

std::string random_id() {
  std::random_device device;
  return core::format("{:08x}{:08x}", device(), device());
}

/// Seconds from `older`'s last change to `newer`'s, by the file system's clock; 0 when one is gone.
double age_between(const fs::path& older, const fs::path& newer) {
  struct stat a {};
  struct stat b {};
  if (::stat(older.c_str(), &a) != 0 || ::stat(newer.c_str(), &b) != 0) return 0.0;
  return static_cast<double>(b.st_mtim.tv_sec - a.st_mtim.tv_sec) +
         1e-9 * static_cast<double>(b.st_mtim.tv_nsec - a.st_mtim.tv_nsec);
}

std::string to_text(const JobIdentity& who) {
  return core::format("job {}\nhost {}\npid {}\n", who.job, who.host, who.pid);
}

JobIdentity parse(const std::string& text) {
  JobIdentity who;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto space = std::min(line.find(' '), line.size());
    const auto key = line.substr(0, space);
    const auto value = line.substr(std::min(space + 1, line.size()));
    if (key == "job") who.job = value;
    if (key == "host") who.host = value;
    if (key == "pid") who.pid = std::strtoll(value.c_str(), nullptr, 10);
  }
  return who;
}

std::string described(const JobIdentity& who) {
  return (who.job.empty() ? std::string() : "job " + who.job + ", ") +
         core::format("process {} on {}", who.pid, who.host);
}

/// Whether a process of this host has ended. One that has and that nobody has waited for yet (a zombie: where
/// the launcher died with it) can still be signalled, so its state is looked at too.
bool is_gone(int64_t pid) {
  if (::kill(static_cast<pid_t>(pid), 0) != 0) return errno == ESRCH;
  std::ifstream file(core::format("/proc/{}/stat", pid));
  std::string stat{std::istreambuf_iterator<char>(file), {}};
  // "pid (name) state …": the name may hold anything, so the state is what follows its last bracket.
  const auto bracket = stat.rfind(')');
  return bracket != std::string::npos && bracket + 2 < stat.size() &&
         (stat[bracket + 2] == 'Z' || stat[bracket + 2] == 'X');
}

/// Why the holder of a lock needs no respect; empty when it does.
std::string stale_reason(const JobIdentity& holder, const JobIdentity& who, double age) {
  if (!who.job.empty() && holder.job == who.job) return "an earlier attempt of the same job";
  if (holder.host == who.host && holder.pid > 0 && is_gone(holder.pid)) return "that process is gone";
  if (age > lock_stale_seconds) return "no heartbeat for " + core::format_seconds(age);
  return {};
}

void make_folder(const fs::path& root) {
  std::error_code code;
  fs::create_directories(root, code);
  struct stat status {};
  if (::stat(root.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    refuse(core::format("cannot make the run folder {}: {}", root.string(),
                        code ? code.message() : "there is something else of this name"));
  if (status.st_uid != ::geteuid())
    refuse(core::format("the run folder {} belongs to user {}, not to user {} who runs this", root.string(),
                        status.st_uid, ::geteuid()));
}

/// "failure.txt" becomes "failure-1.txt", or -2 …
fs::path aside_name(const fs::path& path) {
  for (int64_t i = 1;; ++i) {
    auto name =
        path.parent_path() / core::format("{}-{}{}", path.stem().string(), i, path.extension().string());
    if (!fs::exists(name)) return name;
  }
}

}  // namespace

RunFolder::RunFolder(fs::path root, const JobIdentity& who, Contents contents) : paths_{std::move(root)} {
  make_folder(paths_.root);
  try {
    take_lock(who);
    move_aside();
    read_id(contents);
  } catch (const DiskError& error) {
    if (still_ours()) ::unlink(paths_.lock().c_str());
    refuse(core::format("the run folder {} cannot be used: {}", paths_.root.string(), error.what()));
  }
  heart_ = std::jthread([this](const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, stop, std::chrono::duration<double>(heartbeat_seconds),
                           [&] { return stop.stop_requested(); })) {
      beat();
    }
  });
}

RunFolder::~RunFolder() {
  heart_.request_stop();
  heart_.join();
  if (still_ours()) ::unlink(paths_.lock().c_str());
}

void RunFolder::beat() {
  if (still_ours())
    ::utimensat(AT_FDCWD, paths_.lock().c_str(), nullptr, 0);
  else
    lost_.store(true);
}

bool RunFolder::still_ours() const {
  return !lock_text_.empty() && small_file(paths_.lock()) == lock_text_;
}

void RunFolder::take_lock(const JobIdentity& who) {
  const auto text = to_text(who) + "token " + random_id() + "\n";
  const auto mine = paths_.root / core::format("lock.{}.{}", who.host, who.pid);
  ::unlink(mine.c_str());  // of a killed process with the same number
  write_small_file(mine, text);
  const auto lock = paths_.lock();
  if (::link(mine.c_str(), lock.c_str()) == 0) {
    ::unlink(mine.c_str());
    lock_text_ = text;
    return;
  }
  const auto code = errno;
  const auto holder = parse(small_file(lock));
  const auto age = age_between(lock, mine);
  const auto reason = code == EEXIST ? stale_reason(holder, who, age) : std::string();
  if (reason.empty()) {
    ::unlink(mine.c_str());
    if (code != EEXIST) throw DiskError("cannot lock it: " + std::generic_category().message(code));
    refuse(core::format("{} is in use by {} (heartbeat {} ago); remove {} if that is wrong",
                        paths_.root.string(), described(holder), core::format_seconds(age < 0.0 ? 0.0 : age),
                        lock.string()));
  }
  rename_file(mine, lock);
  lock_text_ = text;
  if (!still_ours())
    refuse(core::format("another job took over {} at the same moment", paths_.root.string()));
  notices_.push_back(core::format("lock of {} taken over: {}", described(holder), reason));
}

void RunFolder::move_aside() {
  for (const auto& path : {paths_.failure(), paths_.root / "log"}) {
    if (!fs::exists(path)) continue;
    const auto aside = aside_name(path);
    rename_file(path, aside);
    notices_.push_back(core::format("{} of an earlier attempt is now {}", path.filename().string(),
                                    aside.filename().string()));
  }
}

void RunFolder::read_id(Contents contents) {
  const auto path = paths_.run_id();
  if (contents == Contents::renew) ::unlink(path.c_str());
  id_ = small_file(path);
  if (!id_.empty()) return;
  ::unlink(path.c_str());
  id_ = random_id();
  write_small_file(path, id_);
}

}  // namespace galvatron::store
