// A small job that fails in the way that its first argument names, with the same ends as the real program:
// what must hold is one message and the right exit code within seconds. provoke.py starts it and looks.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "comm/failure.hpp"
#include "comm/guard.hpp"
#include "comm/mesh.hpp"
#include "comm/mpi/mpi_world.hpp"
#include "comm/watchdog.hpp"
#include "core/errors.hpp"

namespace {

using namespace galvatron;

void print(const std::string& text) {
  std::fprintf(stderr, "MESSAGE %s\n", text.c_str());
  std::fflush(stderr);
}

struct Job {
  comm::World& world;
  comm::Communicator& group;
  comm::Watchdog& watchdog;

  bool culprit() const { return world.rank() == 1; }

  /// A collective of everybody; a rank that is not there makes all others wait in it.
  void step(const std::string& action) const {
    watchdog.pat(action);
    std::vector<double> data(50000, 1.0);
    group.all_reduce(device::vector(data.data(), core::DType::f64, 50000), comm::ReduceOp::sum);
  }
};

void fail_as(const std::string& how, const Job& job) {
  job.step("forward 0");
  if (how == "agreed") {
    job.world.agree("load the data", [&] {
      if (job.culprit()) throw core::UserError(core::ExitCode::data, "token file is missing");
    });
  } else if (how == "agreed_all") {
    job.world.agree("read the deck", [&] { throw core::UserError("bad deck"); });
  } else if (how == "lonely") {
    if (job.culprit()) throw core::ResourceError("the disk is full");
  } else if (how == "two_lonely") {
    if (job.world.rank() > 0) throw core::ResourceError("the disk is full");
  } else if (how == "lonely_with_messages") {
    std::vector<double> data(200000);
    const auto view = device::vector(data.data(), core::DType::f64, 200000);
    auto receive = job.group.receive(view, job.group.index() == 0 ? 1 : 0);
    if (job.culprit()) throw core::UserError(core::ExitCode::numerical, "loss is not finite");
  } else if (how == "hang") {
    if (job.culprit()) {
      job.watchdog.pat("compute for ever");
      while (true) ::pause();
    }
  } else if (how == "stuck_beside") {
    // Steps go on, and the writing thread of every rank waits for the one that hangs in its disk.
    job.watchdog.pat_beside(job.culprit() ? "checkpoint of step 5: sync" : "checkpoint of step 5: seal");
    while (true) {
      job.watchdog.pat("forward 2");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  } else if (how == "rests_beside") {
    // A second thread that has ended its work is not waited for.
    job.watchdog.pat_beside("checkpoint of step 5: seal");
    job.watchdog.pat_beside("");
    for (int i = 0; i < 400; ++i) {
      job.watchdog.pat("forward 2");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  } else if (how == "killed") {
    if (job.culprit()) ::kill(::getpid(), SIGKILL);
  } else if (how == "stopped") {
    if (job.culprit()) ::kill(::getpid(), SIGSTOP);
  } else if (how == "crash") {
    if (job.culprit()) ::kill(::getpid(), SIGSEGV);
  }
  job.step("forward 1");
}

/// As the program's own: agreed errors end cleanly, others end the job from here.
int run(const std::string& how, const std::filesystem::path& folder) {
  const comm::Guard guard;
  const auto world = comm::mpi::make_world();
  std::string message;
  try {
    std::vector<int> everybody;
    for (int r = 0; r < world->size(); ++r) everybody.push_back(r);
    comm::DeviceMesh mesh(*world, {{comm::TrafficClass::layer, everybody}});
    const bool watched = how == "hang" || how == "stopped" || how.ends_with("_beside");
    comm::Watchdog watchdog(*world, folder, watched ? 3.0 : 0.0, print);
    fail_as(how, {*world, mesh.get(everybody, comm::TrafficClass::layer), watchdog});
    return 0;
  } catch (const core::AgreedError& error) {
    if (world->rank() == 0) print(error.what());
    return static_cast<int>(error.code());
  } catch (const core::Error& error) {
    comm::FailureReport(*world, folder, print).end_job(error.code(), error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    return run(argv[1], argv[2]);
  } catch (const core::Error& error) {
    print(error.what());
    return static_cast<int>(error.code());
  }
}
