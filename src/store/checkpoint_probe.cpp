// What shows at the start of a run need not cost its first checkpoint: folders that cannot be written to, and
// ways of writing that hang or write something else.
#include "store/checkpoint_probe.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"

namespace galvatron::store {

Attempt::Attempt(comm::World& world, std::function<void(comm::World&)> body) : world_(world) {
  std::shared_ptr<comm::World> twin = world.twin();
  ticket_ = thread_.submit([twin, body = std::move(body)] { body(*twin); });
}

bool Attempt::ends_within(double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  const auto waited = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  while (!thread_.finished(ticket_) && waited() < seconds)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  int64_t late = thread_.finished(ticket_) ? 0 : 1;
  world_.all_reduce(std::span(&late, 1), core::ReduceOp::max);
  return late == 0;
}

namespace {

/// Elements of rank r: uneven on purpose.
struct Shares {
  int64_t first = 0;  ///< of rank 0
  int64_t more = 1;   ///< of each rank than of the one before
  int64_t of(int64_t rank) const { return first + rank * more; }
  int64_t before(int64_t rank) const { return rank * first + rank * (rank - 1) / 2 * more; }
};

SaveReport save_probe(comm::World& world, const std::filesystem::path& path, const CheckpointOptions& options,
                      Shares shares = {}) {
  const int64_t rank = world.rank();
  const std::vector<TensorInfo> tensors = {{"model/probe", {shares.before(world.size())}, core::DType::i32}};
  std::vector<int32_t> numbers(static_cast<size_t>(shares.of(rank)));
  std::iota(numbers.begin(), numbers.end(), static_cast<int32_t>(shares.before(rank)));
  const Piece piece{0, shares.before(rank), shares.of(rank), reinterpret_cast<std::byte*>(numbers.data())};
  return save_checkpoint(world, path, {}, tensors, std::span(&piece, 1), options);
}

void remove_probe(comm::World& world, const std::filesystem::path& path) {
  world.agree("", [&] {
    std::error_code ignored;
    if (world.rank() == 0) std::filesystem::remove(path, ignored);
  });
}

}  // namespace

void probe_checkpoint_folder(comm::World& world, const std::filesystem::path& folder) {
  const auto path = folder / "probe.h5";
  const auto report = save_probe(world, path, {});
  remove_probe(world, path);
  world.agree("probe the checkpoint folder", [&] {
    if (report.outcome == SaveOutcome::failed)
      throw core::UserError(core::ExitCode::environment, "checkpoints cannot be written: " + report.problem);
  });
}

ProbedIo probe_checkpoint_io(comm::World& world, const std::filesystem::path& folder, CheckpointIo wanted,
                             double patience) {
  probe_checkpoint_folder(world, folder);
  if (world.size() == 1 || wanted == CheckpointIo::automatic || wanted == CheckpointIo::aggregate)
    return {CheckpointIo::aggregate, ""};
  const auto path = folder / "probe.h5";
  const auto report = std::make_shared<SaveReport>();
  Attempt attempt(world, [report, path, wanted](comm::World& twin) {
    CheckpointOptions options;
    options.io = wanted;
    *report = save_probe(twin, path, options);
  });
  if (!attempt.ends_within(patience))
    // Not agreed: a thread hangs in MPI, so the job cannot end in an orderly way.
    throw core::UserError(core::ExitCode::environment,
                          core::format("checkpoint.io = {}: writing a few bytes did not end within {}; use "
                                       "aggregate, or another MPI-IO component of the MPI library",
                                       name_of(wanted), core::format_seconds(patience)));
  remove_probe(world, path);
  if (!report->remark.empty() || report->outcome == SaveOutcome::failed)
    return {CheckpointIo::aggregate, report->remark + report->problem};
  return {wanted, ""};
}

TriedIo try_checkpoint_io(comm::World& world, const std::filesystem::path& folder, CheckpointIo io,
                          int64_t bytes, double patience) {
  TriedIo tried{.io = io};
  const auto path = folder / core::format("probe-{}.h5", name_of(io));
  const auto report = std::make_shared<SaveReport>();
  // Half as much again for the last rank as for the first one.
  const auto least = std::max<int64_t>(1, bytes / 4 / world.size() * 4 / 5);
  const Shares shares{least, std::max<int64_t>(1, least / (2 * world.size()))};
  Attempt attempt(world, [report, path, io, shares](comm::World& twin) {
    CheckpointOptions options;
    options.io = io;
    *report = save_probe(twin, path, options, shares);
  });
  tried.ended = attempt.ends_within(patience);
  if (!tried.ended) {
    tried.problem = core::format("did not end within {}", core::format_seconds(patience));
    return tried;
  }
  remove_probe(world, path);
  tried.problem = report->remark + report->problem;
  if (tried.problem.empty())
    tried.bytes_per_second = static_cast<double>(report->bytes) / std::max(report->seconds, 1e-9);
  return tried;
}

}  // namespace galvatron::store
