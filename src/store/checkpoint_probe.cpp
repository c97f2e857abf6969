// What shows at the start of a run need not cost its first checkpoint: folders that cannot be written to, and
// ways of writing that hang or write something else.
#include "store/checkpoint_probe.hpp"

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

/// A tiny checkpoint, uneven on purpose: rank r has r elements, so rank 0 has none.
SaveReport save_probe(comm::World& world, const std::filesystem::path& path,
                      const CheckpointOptions& options) {
  const int64_t rank = world.rank();
  const int64_t size = world.size();
  const std::vector<TensorInfo> tensors = {{"model/probe", {size * (size - 1) / 2}, core::DType::i32}};
  std::vector<int32_t> numbers(static_cast<size_t>(rank));
  std::iota(numbers.begin(), numbers.end(), static_cast<int32_t>(rank * (rank - 1) / 2));
  const Piece piece{0, rank * (rank - 1) / 2, rank, reinterpret_cast<std::byte*>(numbers.data())};
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

}  // namespace galvatron::store
