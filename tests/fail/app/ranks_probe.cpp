// A program with the real entry and verbs that fail on purpose, one for each row of the table of errors
// across ranks. ranks_test.cpp runs it under mpirun and looks at what comes out.
#include <chrono>
#include <string>
#include <thread>

#include "app/app.hpp"
#include "app/ranks.hpp"
#include "comm/watchdog.hpp"
#include "core/errors.hpp"

namespace galvatron::app {
namespace {

using core::ExitCode;

ExitCode fine_verb(Context& context) {
  context.console.info("all is well");
  context.result.set("ranks", static_cast<int64_t>(context.ranks->world().size()));
  context.result.set("steps", context.deck.train.steps);
  return ExitCode::finished;
}

/// The same failure on every rank.
ExitCode all_verb(Context& context) {
  context.ranks->world().agree("look at the data",
                               [] { throw core::UserError(ExitCode::data, "there is no text in it"); });
  return ExitCode::finished;
}

/// A failure on one rank at a meeting point.
ExitCode one_verb(Context& context) {
  comm::World& world = context.ranks->world();
  world.agree("allocate", [&] {
    if (world.rank() == 1) throw core::ResourceError("no room for 3 GiB");
  });
  return ExitCode::finished;
}

/// A failure on some ranks while the others communicate.
ExitCode lone_verb(Context& context) {
  comm::World& world = context.ranks->world();
  if (world.rank() >= 1) throw core::Error(ExitCode::numerical, "the loss is not finite");
  world.barrier();
  return ExitCode::finished;
}

/// A rank that does not come.
ExitCode hang_verb(Context& context) {
  comm::World& world = context.ranks->world();
  context.watchdog->pat(world.rank() == 1 ? "dreaming" : "waiting for the others");
  while (world.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(1));
  world.barrier();
  return ExitCode::finished;
}

std::vector<Verb> table() {
  const auto row = [](const char* name, ExitCode (*play)(Context&)) {
    return Verb{name, Launch::ranks, Argument::deck, Ending::result, play, "fails on purpose"};
  };
  return {row("fine", fine_verb), row("all", all_verb), row("one", one_verb), row("lone", lone_verb),
          row("hang", hang_verb)};
}

}  // namespace
}  // namespace galvatron::app

int main(int argc, char** argv) {
  return galvatron::app::run({argv + 1, argv + argc}, galvatron::app::table());
}
