// What a checkpoint costs, beside what the disk can do in the same run:
//   mpirun -n 2 --bind-to none bench_runtime_checkpoint FOLDER ROUNDS STEPS DECK [section.key=VALUE …]
// Each round writes the same bytes twice: plainly (every rank its share of one file with pwrite, then fsync;
// the file system has nothing to do but that), and as a whole save (layout, hashes, seal, fsync, read back
// and compared, renamed). Then STEPS training steps twice: alone, and with a save begun behind the first of
// them. The order of the two turns around from round to round. Ratios are of medians over the rounds; a round
// of steps is over when its save is. Last comes where the time of a save goes, as its words of progress tell
// it on rank 0.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/guard.hpp"
#include "comm/world.hpp"
#include "core/errors.hpp"
#include "deck/deck.hpp"
#include "plan/by_hand.hpp"
#include "runtime/loader.hpp"
#include "runtime/session.hpp"
#include "runtime/snapshot.hpp"
#include "runtime/trainer.hpp"
#include "store/checkpoint_writer.hpp"
#include "store/dataset.hpp"
#include "store/file.hpp"

namespace galvatron::bench {
namespace {

constexpr int64_t block = int64_t{4} << 20;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0.0 : values[values.size() / 2];
}

struct Figures {
  std::vector<double> plain, save, alone, behind;     ///< seconds of each round, slowest rank
  std::vector<double> copy, in_flight;                ///< of saves behind steps: begin() alone, and whole
  std::vector<std::pair<std::string, double>> parts;  ///< seconds of all saves, by what was under way
  int64_t bytes = 0;                                  ///< of the pieces, all ranks
};

Figures only_bytes(int64_t bytes) {
  Figures f;
  f.bytes = bytes;
  return f;
}

/// Adds up how long each word of progress was the last one.
class PartsClock {
 public:
  explicit PartsClock(std::vector<std::pair<std::string, double>>& parts) : parts_(parts) {}
  ~PartsClock() { begin({}); }
  PartsClock(const PartsClock&) = delete;
  PartsClock& operator=(const PartsClock&) = delete;

  void begin(std::string part) {
    const auto now = runtime::now();
    auto at =
        std::find_if(parts_.begin(), parts_.end(), [&](const auto& known) { return known.first == part_; });
    if (at == parts_.end()) at = parts_.insert(at, {part_, 0.0});
    at->second += now - since_;
    part_ = std::move(part);
    since_ = now;
  }

 private:
  std::vector<std::pair<std::string, double>>& parts_;
  std::string part_ = "gather and check";
  double since_ = runtime::now();
};

class CheckpointBench {
 public:
  CheckpointBench(comm::World& world, device::Device& device, const deck::DeckValues& deck,
                  std::filesystem::path folder)
      : world_(world),
        deck_(deck),
        folder_(std::move(folder)),
        model_(spec::model_from_deck(deck.model)),
        plan_(plan::plan_by_hand(plan::uniform_from_deck(deck.plan, world.size(), deck.search.batch.front()),
                                 model_)),
        kernels_(kernels::make_kernels(device, static_cast<int>(std::max<int64_t>(1, deck.run.threads)))),
        session_(world, device, *kernels_, plan_, model_, {.dtype = runtime::dtype_of(deck.train)}),
        data_(store::make_synthetic_dataset(1, "checkpoint", int64_t{1} << 28, model_.vocab)),
        loader_(
            *data_, [this](int64_t sample) { return sample * (model_.seq + 1); }, plan_, model_,
            world.rank()),
        tensors_(runtime::tensors_of(model_, runtime::dtype_of(deck.train))),
        writer_(world, device) {
    options_.io = store::parse_checkpoint_io(deck.checkpoint.io);
    options_.window = &session_.window();
    world.agree("make the folder", [&] {
      if (world.rank() == 0) std::filesystem::create_directories(folder_);
    });
  }

  Figures run(int64_t rounds, int64_t steps) {
    Figures f;
    for (const auto& piece : pieces()) f.bytes += bytes_of(piece);
    world_.all_reduce(std::span(&f.bytes, 1), core::ReduceOp::sum);
    play(2);
    save_behind(0, f);  // copies allocated, pages touched
    f = only_bytes(f.bytes);
    for (int64_t round = 0; round < rounds; ++round) {
      const auto both = [&](auto first, auto second) {
        if (round % 2 == 0) first();
        second();
        if (round % 2 == 1) first();
      };
      both([&] { f.plain.push_back(timed([&] { write_plainly(); })); },
           [&] { f.save.push_back(timed([&] { save_now(f); })); });
      both([&] { f.alone.push_back(timed([&] { play(steps); })); },
           [&] { f.behind.push_back(timed([&] { save_behind(steps, f); })); });
    }
    return f;
  }

 private:
  std::vector<store::Piece> pieces() {
    return runtime::pieces_of(session_.stage(), model_, tensors_, runtime::SnapshotUse::saving);
  }
  int64_t bytes_of(const store::Piece& piece) const {
    return piece.elements() * core::size_of(tensors_[static_cast<size_t>(piece.tensor)].dtype);
  }

  /// Seconds of the slowest rank, from a common start.
  template <class Body>
  double timed(const Body& body) {
    world_.barrier();
    const auto begin = runtime::now();
    body();
    double seconds = runtime::now() - begin;
    world_.all_reduce(std::span(&seconds, 1), core::ReduceOp::max);
    return seconds;
  }

  void play(int64_t steps) {
    for (int64_t i = 0; i < steps; ++i, ++step_) {
      loader_.seek(step_ * plan_.batch);
      session_.step(loader_, deck_.train, step_);
    }
  }

  void write_plainly() {
    // The one before stays until this one is whole, as with checkpoints: both take new blocks and new pages.
    const auto path = folder_ / "plain.tmp";
    if (world_.rank() == 0) {
      std::error_code ignored;
      std::filesystem::remove(path, ignored);
      const store::File created(path, store::File::Mode::create);
    }
    int64_t mine = 0;
    for (const auto& piece : pieces()) mine += bytes_of(piece);
    const auto all = world_.all_gather(mine);
    int64_t at = 0;
    for (int rank = 0; rank < world_.rank(); ++rank) at += all[static_cast<size_t>(rank)];
    const store::File file(path, store::File::Mode::update);
    for (const auto& piece : pieces()) {
      const auto bytes = bytes_of(piece) / piece.times;
      for (int64_t time = 0; time < piece.times; ++time)
        for (int64_t done = 0; done < bytes; done += block) {
          const auto count = std::min(block, bytes - done);
          file.write(at, session_.window().look(piece.stretch(time).data + done, count));
          at += count;
        }
    }
    file.sync();
    world_.barrier();
    if (world_.rank() == 0) store::rename_file(path, folder_ / "plain");
  }

  void require(const store::SaveReport& report) {
    if (report.outcome == store::SaveOutcome::failed || !report.remark.empty())
      throw core::UserError(report.problem + report.remark);
  }

  void save_now(Figures& f) {
    PartsClock clock(f.parts);
    auto options = options_;
    options.progress = [&clock](std::string_view text) {  // "checkpoint of step 0: write"
      clock.begin(std::string(text.substr(std::min(text.size(), text.rfind(':') + 2))));
    };
    require(store::save_checkpoint(world_, folder_ / "checkpoint.h5", {}, tensors_, pieces(), options));
  }

  void save_behind(int64_t steps, Figures& f) {
    const auto begin = runtime::now();
    auto options = options_;
    double end = begin;
    options.progress = [&end](std::string_view text) {
      if (text.empty()) end = runtime::now();
    };
    writer_.begin(folder_ / "checkpoint.h5", {}, tensors_, pieces(), options);
    f.copy.push_back(runtime::now() - begin);
    play(steps);
    require(*writer_.wait());
    f.in_flight.push_back(end - begin);
  }

  comm::World& world_;
  const deck::DeckValues& deck_;
  std::filesystem::path folder_;
  spec::ModelSpec model_;
  plan::Plan plan_;
  std::unique_ptr<kernels::Kernels> kernels_;
  runtime::Session session_;
  std::unique_ptr<store::Dataset> data_;
  runtime::Loader loader_;
  std::vector<store::TensorInfo> tensors_;
  store::CheckpointOptions options_;
  store::CheckpointWriter writer_;
  int64_t step_ = 0;
};

void print(const Figures& f, int ranks, int64_t steps) {
  const auto gigabytes = static_cast<double>(f.bytes) / 1e9;
  std::printf("%5s %12s %12s %12s %12s %12s %12s\n", "round", "plain s", "save s", "steps s", "with save s",
              "copy s", "in flight s");
  for (size_t i = 0; i < f.plain.size(); ++i)
    std::printf("%5zu %12.3f %12.3f %12.3f %12.3f %12.3f %12.3f\n", i, f.plain[i], f.save[i], f.alone[i],
                f.behind[i], f.copy[i], f.in_flight[i]);
  std::printf("seconds of a save, mean:");
  for (const auto& [part, seconds] : f.parts)
    std::printf(" %s %.3f", part.c_str(), seconds / static_cast<double>(f.save.size()));
  std::printf("\n");
  const double plain = median(f.plain), save = median(f.save), alone = median(f.alone);
  std::printf(
      "RESULT bench=checkpoint ranks=%d bytes=%lld write_gbps=%.3f disk_gbps=%.3f ratio=%.3f steps=%lld "
      "step_s=%.3f stall_pct=%.2f copy_pct=%.2f in_flight_s=%.3f\n",
      ranks, static_cast<long long>(f.bytes), gigabytes / save, gigabytes / plain, plain / save,
      static_cast<long long>(steps), alone / static_cast<double>(steps),
      100.0 * (median(f.behind) / alone - 1.0), 100.0 * median(f.copy) / alone, median(f.in_flight));
}

int run(int argc, char** argv) {
  const auto device = device::make_device(device::DeviceKind::cpu);
  const auto world = comm::make_mpi_world(*device);
  try {
    if (argc < 5)
      throw core::UserError("usage: bench_runtime_checkpoint FOLDER ROUNDS STEPS DECK [section.key=VALUE …]");
    std::ifstream file(argv[4], std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const auto deck = deck::parse_deck(bytes, argv[4], {argv + 5, argv + argc});
    const int64_t steps = std::max(1, std::atoi(argv[3]));
    const auto figures =
        CheckpointBench(*world, *device, deck, argv[1]).run(std::max(1, std::atoi(argv[2])), steps);
    if (world->rank() == 0) print(figures, world->size(), steps);
    return 0;
  } catch (const core::Error& error) {
    if (world->rank() == 0) std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace galvatron::bench

int main(int argc, char** argv) {
  const galvatron::comm::Guard guard;
  return galvatron::bench::run(argc, argv);
}
