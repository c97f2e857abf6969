// What is thought of the facts of all ranks: pure functions, one per line of the doctor's table.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "app/doctor.hpp"
#include "core/format.hpp"
#include "core/units.hpp"

namespace galvatron::app {
namespace {

constexpr int64_t mebibyte = int64_t{1} << 20;
constexpr int64_t little_memory = 512 * mebibyte;        // of a rank
constexpr int64_t little_shared_memory = 64 * mebibyte;  // of a rank
constexpr int64_t few_files = 1024;
constexpr double skewed = 1.0;  // seconds

/// Ranks of each node, in world order.
std::map<int, std::vector<size_t>> by_node(const std::vector<RankFacts>& ranks) {
  std::map<int, std::vector<size_t>> nodes;
  for (size_t r = 0; r < ranks.size(); ++r) nodes[ranks[r].node].push_back(r);
  return nodes;
}

std::string numbers(const std::vector<size_t>& ranks) {
  std::vector<std::string> texts;
  for (const auto r : ranks) texts.push_back(std::to_string(r));
  return core::join(texts, ", ");
}

/// The ranks whose value is not rank 0's.
template <class Value>
std::vector<size_t> others(const std::vector<RankFacts>& ranks, const Value& value) {
  std::vector<size_t> found;
  for (size_t r = 1; r < ranks.size(); ++r)
    if (value(ranks[r]) != value(ranks[0])) found.push_back(r);
  return found;
}

std::set<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::set<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.insert(line);
  return lines;
}

size_t devices_in(const std::string& visible) {
  return static_cast<size_t>(std::count(visible.begin(), visible.end(), ',')) + 1;
}

}  // namespace

Check judge_nodes(const std::vector<RankFacts>& ranks) {
  const auto nodes = by_node(ranks);
  std::vector<std::string> texts;
  size_t least = ranks.size(), most = 0;
  for (const auto& [node, members] : nodes) {
    texts.push_back(core::format("{} {}", ranks[members[0]].host, members.size()));
    least = std::min(least, members.size());
    most = std::max(most, members.size());
  }
  Check check{"launch", Finding::ok,
              core::format("{} ranks on {} nodes: {}", ranks.size(), nodes.size(), core::join(texts, ", ")),
              ""};
  if (least != most) {
    check.finding = Finding::failure;
    check.advice =
        "start the same number of ranks on every node: srun --ntasks-per-node, mpirun --map-by ppr:N:node";
  }
  return check;
}

Check judge_program(const std::vector<RankFacts>& ranks) {
  const auto differing = others(ranks, [](const RankFacts& f) { return f.program; });
  if (differing.empty())
    return {"program", Finding::ok, "the same build in the same place on every rank", ""};
  return {
      "program", Finding::failure,
      core::format("another build or another path than rank 0's on ranks {}", numbers(differing)),
      "install the same program on every node, or on a shared file system; see galvatron --version there"};
}

Check judge_settings(const std::vector<RankFacts>& ranks) {
  const auto differing = others(ranks, [](const RankFacts& f) { return f.settings; });
  if (differing.empty()) {
    const auto count = lines_of(ranks[0].settings).size();
    return {"settings", Finding::ok,
            core::format("{} variables for MPI and its kin, the same everywhere", count), ""};
  }
  const auto here = lines_of(ranks[0].settings), there = lines_of(ranks[differing[0]].settings);
  std::vector<std::string> odd;
  std::set_symmetric_difference(here.begin(), here.end(), there.begin(), there.end(),
                                std::back_inserter(odd));
  return {
      "settings", Finding::warning,
      core::format("ranks {} have other variables than rank 0: {}", numbers(differing), core::join(odd, " ")),
      "set them for all ranks: srun --export=ALL, mpirun -x NAME; some differences hang a job"};
}

Check judge_binding(const std::vector<RankFacts>& ranks) {
  for (const auto& [node, members] : by_node(ranks)) {
    std::set<int> cores;
    int64_t threads = 0;
    bool yields = true;
    for (const auto r : members) {
      cores.insert(ranks[r].cores.begin(), ranks[r].cores.end());
      threads += std::max<int64_t>(1, ranks[r].threads);
      yields = yields && ranks[r].yields == "1";
    }
    const auto& host = ranks[members[0]].host;
    if (members.size() > 1 && cores.size() == 1 && ranks[members[0]].machine_cores > 1)
      return {"binding", Finding::failure,
              core::format("all {} ranks of {} are on core {}, of {}", members.size(), host, *cores.begin(),
                           ranks[members[0]].machine_cores),
              "mpirun --bind-to none, or --map-by ppr:N:node:PE=C; srun --cpus-per-task=C --cpu-bind=cores"};
    if (threads > static_cast<int64_t>(cores.size()))
      return {"binding", Finding::warning,
              core::format("{} ranks with {} threads in all share {} cores of {}", members.size(), threads,
                           cores.size(), host),
              yields ? "fewer ranks, or a lower OMP_NUM_THREADS"
                     : "fewer ranks, or a lower OMP_NUM_THREADS; else export OMPI_MCA_mpi_yield_when_idle=1, "
                       "so that "
                       "ranks that wait do not keep the cores"};
  }
  size_t least = ranks[0].cores.size();
  for (const auto& facts : ranks) least = std::min(least, facts.cores.size());
  return {"binding", Finding::ok, core::format("{} cores or more for each rank", least), ""};
}

Check judge_devices(const std::vector<RankFacts>& ranks) {
  std::map<std::pair<int64_t, std::string>, size_t> owners;  // (node, device): addresses are a node's own
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].device.empty()) continue;
    const auto [at, fresh] =
        owners.emplace(std::pair<int64_t, std::string>{ranks[r].node, ranks[r].device}, r);
    if (!fresh)
      return {"devices", Finding::failure,
              core::format("ranks {} and {} use the same device, {}, on {}", at->second, r, ranks[r].device,
                           ranks[r].host),
              "one rank per device: --ntasks-per-node as --gpus-per-node, srun --gpu-bind=none"};
  }
  for (const auto& [node, members] : by_node(ranks)) {
    const auto& first = ranks[members[0]];
    if (first.visible.empty()) continue;
    const bool all_same = std::all_of(members.begin(), members.end(),
                                      [&](size_t r) { return ranks[r].visible == first.visible; });
    const auto devices = devices_in(first.visible);
    if (all_same && devices < members.size())
      return {"devices", Finding::failure,
              core::format("{} ranks of {} see {} devices (CUDA_VISIBLE_DEVICES={}): ranks {} would share",
                           members.size(), first.host, devices, first.visible, numbers(members)),
              "--gpus-per-node as --ntasks-per-node, srun --gpu-bind=none"};
    if (!all_same && devices == 1)
      return {"devices", Finding::warning,
              core::format("each rank of {} sees one device only, and cannot reach the others' directly",
                           first.host),
              "--gpus-per-node instead of --gpus-per-task, srun --gpu-bind=none"};
  }
  if (owners.empty()) return {"devices", Finding::ok, "the ranks compute on CPUs", ""};
  return {"devices", Finding::ok, core::format("{} devices, each of one rank", owners.size()), ""};
}

Check judge_memory(const std::vector<RankFacts>& ranks) {
  int64_t least = -1;
  size_t where = 0;
  for (const auto& [node, members] : by_node(ranks)) {
    for (const auto r : members) {
      const auto share = ranks[r].available_bytes / static_cast<int64_t>(members.size());
      if (least < 0 || share < least) {
        least = share;
        where = r;
      }
    }
  }
  Check check{
      "memory", Finding::ok,
      core::format("{} or more for each rank, least on {}", core::format_bytes(least), ranks[where].host),
      ""};
  if (least < little_memory) {
    check.finding = Finding::warning;
    check.advice =
        "sbatch --mem=0 takes all of a node's memory; or a higher limit of the control group; or fewer ranks";
  }
  return check;
}

Check judge_limits(const std::vector<RankFacts>& ranks) {
  std::vector<std::string> problems, advice;
  const auto nodes = by_node(ranks);
  for (size_t r = 0; r < ranks.size() && problems.empty(); ++r) {
    const auto& facts = ranks[r];
    const auto local = static_cast<int64_t>(nodes.at(facts.node).size());
    const auto on = core::format("rank {} on {}", r, facts.host);
    if (facts.address_space_bytes >= 0) {
      problems.push_back(
          core::format("{}: address space limited to {}", on, core::format_bytes(facts.address_space_bytes)));
      advice.emplace_back("ulimit -v unlimited");
    }
    if (facts.open_files >= 0 && facts.open_files < few_files) {
      problems.push_back(core::format("{}: {} open files at most", on, facts.open_files));
      advice.emplace_back("ulimit -n 4096");
    }
    if (facts.infiniband && facts.locked_bytes >= 0 && facts.locked_bytes < 64 * mebibyte) {
      problems.push_back(core::format("{}: {} of locked memory, with InfiniBand", on,
                                      core::format_bytes(facts.locked_bytes)));
      advice.emplace_back("ulimit -l unlimited; under Slurm PropagateResourceLimitsExcept=MEMLOCK");
    }
    if (facts.shared_bytes >= 0 && facts.shared_bytes < little_shared_memory * local) {
      problems.push_back(core::format("{}: {} free in /dev/shm for {} ranks", on,
                                      core::format_bytes(facts.shared_bytes), local));
      advice.emplace_back("clear /dev/shm of what dead jobs left (vader_segment.*), or have it made larger");
    }
  }
  if (problems.empty())
    return {"limits", Finding::ok, "address space, files, shared memory: nothing is tight", ""};
  return {"limits", Finding::warning, core::join(problems, "; "), core::join(advice, "; ")};
}

Check judge_clocks(const std::vector<RankFacts>& ranks) {
  size_t worst = 0;
  for (size_t r = 0; r < ranks.size(); ++r)
    if (std::abs(ranks[r].clock_offset) > std::abs(ranks[worst].clock_offset)) worst = r;
  const auto offset = ranks[worst].clock_offset;
  if (std::abs(offset) < skewed)
    return {"clocks", Finding::ok,
            core::format("within {} of each other", core::format_seconds(std::abs(offset))), ""};
  return {
      "clocks", Finding::warning,
      core::format("the clock of {} is {} {} {}'s", ranks[worst].host, core::format_seconds(std::abs(offset)),
                   offset > 0 ? "ahead of" : "behind", ranks[0].host),
      "set the clocks (chronyc tracking): time limits, locks and build tools go by them"};
}

}  // namespace galvatron::app
