// The save protocol, step by step: lay out, write, seal, sync and read back, rename. Every step is a meeting
// point, so that a disk failing on one rank ends the save on all of them and leaves the older files as they
// were.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <set>

#include "comm/background.hpp"
#include "core/errors.hpp"
#include "core/fingerprint.hpp"
#include "core/format.hpp"
#include "cost/terms.hpp"
#include "store/block_table.hpp"
#include "store/checkpoint.hpp"
#include "store/checkpoint_folder.hpp"
#include "store/checkpoint_pieces.hpp"
#include "store/checkpoint_schema.hpp"
#include "store/file.hpp"
#include "store/parallel_file.hpp"
#include "store/portions.hpp"
#include "store/sealed_file.hpp"

namespace galvatron::store {
namespace {

// Plans are priced with these. Of every piece: its slab, a run of the block table when that is read for the
// seal, and a place in the walk over all of them. Two windows: of rows written or read, and of hashes.
static_assert(cost::saving_bytes_per_piece == sizeof(Slab) + sizeof(BlockRun) + sizeof(Repeated));
static_assert(cost::saving_bytes_per_own_piece == sizeof(Piece));
static_assert(cost::saving_window_bytes == 2 * window_rows * sizeof(BlockRow));

/// One save under way. Each method is one collective step.
class Save {
 public:
  Save(comm::World& world, std::filesystem::path path, const CheckpointState& state,
       const std::vector<TensorInfo>& tensors, std::span<const Piece> pieces,
       const CheckpointOptions& options)
      : world_(world),
        path_(std::move(path)),
        state_(state),
        tensors_(tensors),
        pieces_(pieces),
        options_(options) {
    temporary_ = path_;
    temporary_ += ".tmp";
  }

  void check_call();
  void lay_out();
  void write();
  void write_together(ParallelWay way);
  void seal_file();
  void sync_and_read_back();
  std::vector<std::filesystem::path> publish();
  void give_up() noexcept;
  int64_t bytes() const { return bytes_; }

 private:
  OwnRows rows_of(int rank) const { return {tensors_, slabs_[static_cast<size_t>(rank)], rank, layout_}; }
  /// The part of the block table that this rank writes.
  TablePlace table(int rank) const {
    const auto first = first_row_[static_cast<size_t>(rank)];
    return {TablePlace{layout_.table}.address_of(first), first_row_[static_cast<size_t>(rank) + 1] - first};
  }
  File open_written(File::Mode mode) const;
  void read_back() const;
  template <class Write>
  void write_blocks(const Write& write) const;
  void say(std::string_view what) const {
    options_.progress(core::format("checkpoint of step {}: {}", state_.step, what));
  }
  bool root() const { return world_.rank() == 0; }

  comm::World& world_;
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  const CheckpointState& state_;
  const std::vector<TensorInfo>& tensors_;
  std::span<const Piece> pieces_;
  const CheckpointOptions& options_;
  std::vector<std::vector<Slab>> slabs_;
  std::vector<int64_t> first_row_;  ///< per rank, and the total behind the last
  Layout layout_;
  int64_t bytes_ = 0;
};

/// What must be equal on all ranks, as one number.
int64_t call_fingerprint(const std::filesystem::path& path, const CheckpointState& state,
                         const std::vector<TensorInfo>& tensors) {
  std::string text = core::format("{}|{}|{}|{}|", path.string(), state.step, state.samples, state.seed);
  for (const auto& tensor : tensors) {
    text += tensor.name + "|" + std::string(core::name(tensor.dtype));
    for (const auto extent : tensor.shape) text += core::format(",{}", extent);
    text += "\n";
  }
  return static_cast<int64_t>(core::fnv1a(text));
}

void check_names(const std::vector<TensorInfo>& tensors) {
  std::set<std::string_view> names;
  for (const auto& tensor : tensors) {
    const std::string_view name = tensor.name;
    const auto top = name.substr(0, name.find('/'));
    if (top.size() == name.size() || top == "state" || top == "blocks")
      throw core::InternalError(core::format("'{}' is not the name of a tensor", name));
    if (!names.insert(name).second)
      throw core::InternalError(core::format("tensor '{}' is there twice", name));
  }
}

void Save::check_call() {
  const auto prints = world_.all_gather(call_fingerprint(path_, state_, tensors_));
  slabs_ = gather_slabs(world_, pieces_);
  world_.agree("check the pieces of a checkpoint", [&] {
    for (size_t rank = 1; rank < prints.size(); ++rank) {
      if (prints[rank] != prints[0])
        throw core::InternalError(core::format("ranks 0 and {} save different checkpoints", rank));
    }
    check_names(tensors_);
    check_coverage(tensors_, slabs_);
  });
  first_row_.assign(1, 0);
  for (const auto& slabs : slabs_) first_row_.push_back(first_row_.back() + row_count(tensors_, slabs));
}

void Save::lay_out() {
  say("lay out");
  std::string text;
  world_.agree("create a checkpoint", [&] {
    if (!root()) return;
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);  // of a killed save; a failure shows at the creation
    const auto layout = create_layout(temporary_, state_, tensors_, first_row_.back());
    text.assign(reinterpret_cast<const char*>(layout.tensors.data()),
                layout.tensors.size() * sizeof(int64_t));
    text.append(reinterpret_cast<const char*>(&layout.table), sizeof(int64_t));
  });
  text = world_.broadcast(std::move(text), 0);
  GALV_ASSERT(text.size() == (tensors_.size() + 1) * sizeof(int64_t), text.size(), tensors_.size());
  layout_.tensors.resize(tensors_.size());
  std::memcpy(layout_.tensors.data(), text.data(), text.size() - sizeof(int64_t));
  std::memcpy(&layout_.table, text.data() + text.size() - sizeof(int64_t), sizeof(int64_t));
}

File Save::open_written(File::Mode mode) const {
  if (!root() && !std::filesystem::exists(temporary_))
    throw DiskError(
        core::format("{} was created by rank 0 on {} and is not visible on {}: checkpoints need a file "
                     "system that all nodes share",
                     temporary_.string(), world_.host_of(0), world_.host_of(world_.node())));
  return File(temporary_, mode);
}

/// Calls `write(address, bytes)` for every block of this rank, and with every window of their rows.
template <class Write>
void Save::write_blocks(const Write& write) const {
  const auto place = table(world_.rank());
  int64_t written = 0;
  std::vector<BlockRow> window;
  const auto write_window = [&] {
    if (window.empty()) return;
    write(place.address_of(written), std::as_bytes(std::span(window)));
    written += static_cast<int64_t>(window.size());
    window.clear();
  };
  Portions portions;
  say("write");
  auto rows = rows_of(world_.rank());
  while (auto row = rows.next()) {
    const auto stretch = pieces_[rows.slab()].stretch(rows.time());
    const auto* data = stretch.data + rows.done() * (row->bytes / row->count);
    const auto bytes = options_.window ? options_.window->look(data, row->bytes)
                                       : std::span(data, static_cast<size_t>(row->bytes));
    row->hash = hash_of(bytes);
    write(row->address, bytes);
    window.push_back(*row);
    if (static_cast<int64_t>(window.size()) == window_rows) write_window();
    if (portions.complete(row->bytes)) say("write");
  }
  write_window();
}

void Save::write() {
  world_.agree("write a checkpoint", [&] {
    const auto file = open_written(File::Mode::update);
    // The disk works while the next block is hashed.
    SyncAhead ahead(file);
    write_blocks([&](int64_t address, std::span<const std::byte> bytes) {
      file.write(address, bytes);
      ahead.written(address, static_cast<int64_t>(bytes.size()));
    });
    ahead.begin();
  });
}

void Save::write_together(ParallelWay way) {
  world_.agree("open a checkpoint", [&] { open_written(File::Mode::update); });
  ParallelFile file(temporary_, way);
  world_.agree("open a checkpoint on all ranks", [&] { file.check(); });
  int64_t calls = 0;
  write_blocks([&](int64_t address, std::span<const std::byte> bytes) {
    file.write(address, bytes);
    ++calls;
  });
  if (way == ParallelWay::collective) {
    // Ranks with fewer blocks take part in the calls of the others.
    int64_t most = calls;
    for (int rank = 0; rank < world_.size(); ++rank) {
      const auto rows = table(rank).rows;
      most = std::max(most, rows + (rows + window_rows - 1) / window_rows);
    }
    for (; calls < most; ++calls) file.write(0, {});
  }
  say("sync");
  file.close();
  world_.agree("write a checkpoint on all ranks", [&] {
    file.check();
    open_written(File::Mode::update).sync();
  });
}

void Save::seal_file() {
  say("seal");
  world_.agree("seal a checkpoint", [&] {
    if (!root()) return;
    const File file(temporary_, File::Mode::update);
    seal(file, SealedKind::checkpoint, layout_.table, first_row_.back());
    bytes_ = file.size();
  });
}

void Save::sync_and_read_back() {
  if (world_.nodes() > 1) {
    // Other nodes see for certain what was synced only.
    world_.agree("sync a checkpoint", [&] {
      say("sync");
      open_written(File::Mode::update).sync();
    });
    world_.agree("read a checkpoint back", [&] { read_back(); });
    return;
  }
  // On one node what is read comes from the memory that the disk is being given, before and after: both at
  // once.
  world_.agree("sync a checkpoint and read it back", [&] {
    say("sync");
    const auto file = std::make_shared<const File>(open_written(File::Mode::update));
    comm::Background disk(1);
    const auto synced = disk.submit([file] { file->sync(); });
    read_back();
    disk.wait(synced);
  });
}

void Save::read_back() const {
  // Each rank reads what a rank of the next node wrote, so that a folder that is not shared, or a node's own
  // cache, cannot pass for the disk.
  int shift = 0;
  while (shift < world_.size() && world_.node_of(shift) == 0) ++shift;
  const int writer = (world_.rank() + shift) % world_.size();
  const auto file = open_written(File::Mode::read);
  if (root()) {
    try {
      open_sealed(temporary_, SealedKind::checkpoint);
    } catch (const core::UserError& error) {
      throw DiskError(error.what());
    }
  }
  Portions portions;
  say("read back");
  auto expected = rows_of(writer);
  read_windows(file, table(writer), [&](std::span<const BlockRow> found) {
    for (const auto& row : found) {
      if (portions.complete(row.bytes)) say("read back");
      const auto wanted = expected.next();
      GALV_ASSERT(wanted.has_value(), writer);
      if (row.address != wanted->address || row.bytes != wanted->bytes || !row_is_whole(file, row))
        throw DiskError(core::format("{} does not hold what rank {} wrote: tensor '{}', elements {} to {}",
                                     temporary_.string(), writer,
                                     tensors_[static_cast<size_t>(wanted->tensor)].name, wanted->offset,
                                     wanted->offset + wanted->count));
    }
  });
}

std::vector<std::filesystem::path> Save::publish() {
  const auto folder = path_.parent_path().empty() ? std::filesystem::path(".") : path_.parent_path();
  std::string pruned;
  say("rename");
  world_.agree("rename a checkpoint", [&] {
    if (!root()) return;
    rename_file(temporary_, path_);
    sync_folder(folder);
    if (options_.keep <= 0) return;
    const CheckpointFolder files(folder);
    for (const auto& path : files.prune(options_.keep, state_.run, options_.keep_every))
      pruned += path.string() + "\n";
  });
  const auto sizes = world_.all_gather(bytes_);
  bytes_ = sizes[0];
  pruned = world_.broadcast(std::move(pruned), 0);
  std::vector<std::filesystem::path> paths;
  for (size_t at = 0; at < pruned.size();) {
    const auto end = pruned.find('\n', at);
    paths.emplace_back(pruned.substr(at, end - at));
    at = end + 1;
  }
  return paths;
}

void Save::give_up() noexcept {
  if (!root()) return;
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

/// One try, one way. Collective; a failing disk is an outcome, a defect is thrown.
SaveReport try_to_save(comm::World& world, const std::filesystem::path& path, const CheckpointState& state,
                       const std::vector<TensorInfo>& tensors, std::span<const Piece> pieces,
                       const CheckpointOptions& options) {
  SaveReport report;
  Save save(world, path, state, tensors, pieces, options);
  save.check_call();
  try {
    save.lay_out();
    if (options.io == CheckpointIo::independent || options.io == CheckpointIo::collective)
      save.write_together(options.io == CheckpointIo::independent ? ParallelWay::independent
                                                                  : ParallelWay::collective);
    else
      save.write();
    save.seal_file();
    save.sync_and_read_back();
    report.pruned = save.publish();
    report.bytes = save.bytes();
  } catch (const core::AgreedError& error) {
    save.give_up();
    if (error.code() != core::ExitCode::environment) throw;  // DiskError has this code, defects have others
    report.outcome = SaveOutcome::failed;
    report.problem = error.what();
  }
  return report;
}

bool goes_through_mpi(const comm::World& world, CheckpointIo io) {
  return world.size() > 1 && (io == CheckpointIo::independent || io == CheckpointIo::collective);
}

}  // namespace

SaveReport save_checkpoint(comm::World& world, const std::filesystem::path& path,
                           const CheckpointState& state, const std::vector<TensorInfo>& tensors,
                           std::span<const Piece> pieces, const CheckpointOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  auto plain = options;
  plain.io = CheckpointIo::aggregate;
  SaveReport report;
  std::string remark;
  if (goes_through_mpi(world, options.io)) {
    report = try_to_save(world, path, state, tensors, pieces, options);
    if (report.outcome == SaveOutcome::failed)
      remark = core::format("checkpoint.io = {} failed, written with plain calls: {}", name_of(options.io),
                            report.problem);
  }
  if (!goes_through_mpi(world, options.io) || report.outcome == SaveOutcome::failed)
    report = try_to_save(world, path, state, tensors, pieces, plain);
  report.remark = std::move(remark);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  world.all_reduce(std::span(&seconds, 1), core::ReduceOp::max);
  report.seconds = seconds;
  return report;
}

}  // namespace galvatron::store
