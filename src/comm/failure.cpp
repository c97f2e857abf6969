// One message for a failure that only one rank, or a few at once, have seen.
#include "comm/failure.hpp"

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

namespace galvatron::comm {
namespace {

constexpr double others_seconds = 0.5;
/// A later rank ends the job itself when the first one has not managed to.
constexpr double first_seconds = 3.0;

}  // namespace

FailureReport::FailureReport(World& world, const std::filesystem::path& run_folder, Print print)
    : world_(world), report_(run_folder / failure_file), print_(std::move(print)) {}

void FailureReport::end_job(core::ExitCode code, const std::string& message) const {
  const auto& host = world_.host_of(world_.node());
  if (report_.add(world_.rank(), host, message) == Claim::first) {
    print_("rank " + std::to_string(world_.rank()) + " on " + host + ": " + message);
    report_.wait_for(world_.size(), others_seconds);
    const auto own = "rank " + std::to_string(world_.rank()) + " on ";
    for (const auto& entry : report_.entries())
      if (!entry.starts_with(own)) print_("also " + entry);
  } else {
    std::this_thread::sleep_for(std::chrono::duration<double>(first_seconds));
  }
  world_.abort(static_cast<int>(code));
  std::terminate();  // not reached; the compiler does not believe a virtual function's promise
}

}  // namespace galvatron::comm
