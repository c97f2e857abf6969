// galvatron doctor: what is wrong with the way a job was started and with the machine, and what to do about
// it.

#include "app/doctor.hpp"

#include <algorithm>

#include "app/ranks.hpp"
#include "app/verbs.hpp"
#include "core/format.hpp"
#include "core/table.hpp"
#include "runtime/training_state.hpp"

namespace galvatron::app {
namespace {

/// Seconds after which a ring is given up.
constexpr double ring_patience = 30.0;
constexpr int clock_rounds = 5;

/// Seconds by which each rank's clock is ahead of rank 0's: readings between two barriers, of which the least
/// disturbed round counts. Barriers take time, so a small offset may be none.
std::vector<double> clock_offsets(comm::World& world) {
  std::vector<double> least(static_cast<size_t>(world.size()), 0);
  for (int round = 0; round < clock_rounds; ++round) {
    world.barrier();
    const auto clocks = world.all_gather(runtime::wall_clock());
    for (size_t r = 0; r < clocks.size(); ++r) {
      const double offset = clocks[r] - clocks[0];
      if (round == 0 || std::abs(offset) < std::abs(least[r])) least[r] = offset;
    }
  }
  return least;
}

/// Why the ranks cannot have their devices; empty when they have what there is. Collective.
std::string device_fault(Context& context) {
  try {
    context.ranks->use_device(context.deck.run.device);
    return {};
  } catch (const core::AgreedError& error) {
    return error.what();
  }
}

std::vector<RankFacts> facts_of_all(Context& context) {
  auto& world = context.ranks->world();
  std::string mine;
  world.agree("look at the node",
              [&] { mine = to_text(facts_of(world, context.ranks->device().identity())); });
  const auto offsets = clock_offsets(world);
  std::vector<RankFacts> all;
  for (const auto& text : world.all_gather(mine)) all.push_back(facts_from(text));
  for (size_t r = 0; r < all.size(); ++r) all[r].clock_offset = offsets[r];
  return all;
}

std::string word(Finding finding) {
  switch (finding) {
    case Finding::ok:
      return "ok";
    case Finding::warning:
      return "warn";
    case Finding::failure:
      return "FAIL";
  }
  return "";
}

}  // namespace

std::string doctor_table(const std::vector<Check>& checks) {
  std::string out;
  for (const auto& check : checks) {
    out += core::format("{:<4}  {:<10}  {}\n", word(check.finding), check.name, check.text);
    if (!check.advice.empty()) out += core::format("{:<18}to do: {}\n", "", check.advice);
  }
  return out;
}

core::ExitCode doctor_verb(Context& context) {
  const std::filesystem::path folder = context.line.out.empty() ? "." : context.line.out;
  // 1. What the ranks know without talking much.
  const auto fault = device_fault(context);
  const auto ranks = facts_of_all(context);
  std::vector<Check> checks = {judge_nodes(ranks),   judge_program(ranks), judge_settings(ranks),
                               judge_binding(ranks), judge_devices(ranks), judge_memory(ranks),
                               judge_limits(ranks),  judge_clocks(ranks)};
  if (!fault.empty()) checks.push_back({"devices", Finding::failure, fault, "the ranks were put on CPUs"});
  // 2. Whether they can talk, and share files.
  checks.push_back(check_ring(context, ring_patience));
  checks.push_back(check_folder(context, folder));
  bool hangs = false;
  if (checks.back().finding != Finding::failure) {
    checks.push_back(check_hdf5(context, folder));
    const auto written = check_checkpoints(context, folder);
    checks.push_back(written.check);
    hangs = written.hangs;
  }
  // 3. What comes of it.
  const auto count = [&](Finding finding) {
    return static_cast<int64_t>(
        std::count_if(checks.begin(), checks.end(), [&](const Check& c) { return c.finding == finding; }));
  };
  context.console.print(doctor_table(checks));
  context.result.set("checks", static_cast<int64_t>(checks.size()));
  context.result.set("warnings", count(Finding::warning));
  context.result.set("failures", count(Finding::failure));
  // Not agreed: a thread of each rank hangs in MPI, so the job cannot end in an orderly way.
  if (hangs) throw core::UserError(core::ExitCode::environment, "a way to write checkpoints never ended");
  return count(Finding::failure) > 0 ? core::ExitCode::environment : core::ExitCode::finished;
}

}  // namespace galvatron::app
