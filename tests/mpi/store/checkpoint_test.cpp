// Whatever the ranks held when they saved, any rank gets any part back, byte for byte.
#include "store/checkpoint.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <future>

#include "core/errors.hpp"
#include "mpi/store/support.hpp"
#include "store/checkpoint_folder.hpp"
#include "store/checkpoint_probe.hpp"
#include "store/checkpoint_schema.hpp"
#include "store/sealed_file.hpp"

namespace galvatron::store {
namespace {

using test::expect_content;
using test::Held;
using test::Job;
using test::some_state;
using test::some_tensors;

SaveReport save(Job& job, int64_t step, uint64_t seed, int64_t keep = 0) {
  const auto tensors = some_tensors();
  const auto held = test::random_share(job.world(), tensors, seed, static_cast<uint64_t>(step));
  return save_checkpoint(job.world(), CheckpointFolder(job.folder()).file_of(step), some_state(step), tensors,
                         held.pieces, {CheckpointIo::automatic, keep});
}

TEST(Checkpoint, EveryRankReadsTheWholeBack) {
  Job job;
  const auto tensors = some_tensors();
  for (const uint64_t seed : {1, 2, 3}) {
    const auto step = static_cast<int64_t>(seed);
    const auto report = save(job, step, seed);
    ASSERT_EQ(report.outcome, SaveOutcome::saved) << report.problem;
    EXPECT_GT(report.bytes, 1300000 * 4);
    const auto path = CheckpointFolder(job.folder()).file_of(step);
    verify_checkpoint(path);
    EXPECT_EQ(read_state(path), some_state(step));
    EXPECT_EQ(read_tensors(path), tensors);
    Held wanted;
    for (size_t t = 0; t < tensors.size(); ++t)
      wanted.add(tensors, static_cast<int64_t>(t), 0, tensors[t].elements());
    load_checkpoint(job.world(), path, tensors, wanted.pieces);
    for (const auto& piece : wanted.pieces) expect_content(tensors, piece, seed, job.world().rank());
  }
}

TEST(Checkpoint, PartsOfBlocksAreReadInAnyOrder) {
  Job job;
  ASSERT_EQ(save(job, 5, 11).outcome, SaveOutcome::saved);
  // Wanted: some tensors only, in another order, in small overlapping pieces that differ on every rank.
  const auto all = some_tensors();
  const std::vector<TensorInfo> tensors = {all[7], all[0], all[5]};
  Held wanted;
  std::mt19937_64 generator(static_cast<uint64_t>(job.world().rank()));
  for (int i = 0; i < 60; ++i) {
    const auto tensor = static_cast<int64_t>(generator() % tensors.size());
    const auto elements = tensors[static_cast<size_t>(tensor)].elements();
    const auto offset = static_cast<int64_t>(generator() % static_cast<uint64_t>(elements));
    wanted.add(tensors, tensor, offset, std::min<int64_t>(elements - offset, generator() % 500));
  }
  load_checkpoint(job.world(), CheckpointFolder(job.folder()).file_of(5), tensors, wanted.pieces);
  constexpr int64_t number_in_file[] = {7, 0, 5};
  for (auto piece : wanted.pieces) {
    piece.tensor = number_in_file[piece.tensor];
    expect_content(all, piece, 5, job.world().rank());
  }
}

TEST(Checkpoint, BytesLieWhereHdf5SaysTheyDo) {
  Job job;
  ASSERT_EQ(save(job, 1, 4).outcome, SaveOutcome::saved);
  const auto path = CheckpointFolder(job.folder()).file_of(1);
  const auto tensors = some_tensors();
  const auto addresses = addresses_in(path);
  for (const auto& row : test::rows_in(path)) {
    const auto size = core::size_of(tensors[static_cast<size_t>(row.tensor)].dtype);
    EXPECT_EQ(row.address, addresses[static_cast<size_t>(row.tensor)] + row.offset * size)
        << "tensor " << row.tensor;
  }
}

/// What another model would ask for is refused on every rank alike.
TEST(Checkpoint, OtherTensorsAreRefusedByName) {
  Job job;
  ASSERT_EQ(save(job, 1, 4).outcome, SaveOutcome::saved);
  const auto path = CheckpointFolder(job.folder()).file_of(1);
  const std::vector<std::pair<TensorInfo, std::string>> cases = {
      {{"model/none", {3}, core::DType::f32}, "holds no tensor 'model/none'"},
      {{"model/embed.weight", {24, 61}, core::DType::f32}, "tensor 'model/embed.weight' is f32 [61, 24]"},
      {{"model/embed.weight", {61, 24}, core::DType::f64}, "wants f64 [61, 24]"}};
  for (const auto& [tensor, text] : cases) {
    try {
      load_checkpoint(job.world(), path, {tensor}, {});
      ADD_FAILURE() << "no error for: " << text;
    } catch (const core::AgreedError& error) {
      EXPECT_EQ(error.code(), core::ExitCode::checkpoint);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
    }
  }
}

TEST(Checkpoint, PiecesMustCoverEverythingOnce) {
  Job job;
  const std::vector<TensorInfo> tensors = {{"model/a", {10}, core::DType::f32},
                                           {"model/b", {10}, core::DType::f32}};
  const auto attempt = [&](const std::vector<Piece>& root_pieces, const std::vector<Piece>& last_pieces) {
    std::vector<Piece> pieces;
    std::vector<std::byte> memory(200);
    if (job.root()) pieces = root_pieces;
    if (job.world().rank() == job.world().size() - 1)
      pieces.insert(pieces.end(), last_pieces.begin(), last_pieces.end());
    for (auto& piece : pieces) piece.data = memory.data();
    try {
      save_checkpoint(job.world(), job.folder() / "step-000001.h5", some_state(1), tensors, pieces, {});
    } catch (const core::AgreedError& error) {
      EXPECT_EQ(error.code(), core::ExitCode::internal);
      return std::string(error.what());
    }
    return std::string("saved");
  };
  EXPECT_EQ(attempt({{0, 0, 10}}, {{1, 0, 10}}), "saved");
  const auto expect_text = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "got: " << text;
  };
  expect_text(attempt({{0, 0, 10}}, {{1, 0, 9}}), "tensor 'model/b': elements 9 to 10 are given by no rank");
  expect_text(attempt({{0, 3, 7}}, {{1, 0, 10}}), "tensor 'model/a': elements 0 to 3 are given by no rank");
  expect_text(attempt({{0, 0, 10}}, {{0, 9, 1}, {1, 0, 10}}),
              "tensor 'model/a': element 9 is given by ranks 0 and");
  expect_text(attempt({{0, 0, 11}}, {{1, 0, 10}}), "elements 0 to 11 of tensor 'model/a', which has 10");
  expect_text(attempt({{2, 0, 1}}, {}), "tensor number 2 of 2");
}

TEST(Checkpoint, NamesMustBeOnePerTensor) {
  Job job;
  const TensorInfo a = {"model/a", {0}, core::DType::f32};
  for (const auto& tensors :
       {std::vector<TensorInfo>{a, a}, {{"state/a", {0}, core::DType::f32}}, {{"a", {0}, core::DType::f32}}})
    EXPECT_THROW(
        save_checkpoint(job.world(), job.folder() / "step-000001.h5", some_state(1), tensors, {}, {}),
        core::AgreedError)
        << tensors.back().name;
}

TEST(Checkpoint, RanksMustAgreeOnWhatTheySave) {
  Job job;
  if (job.world().size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  auto state = some_state(1);
  state.step += job.world().rank() == 1 ? 1 : 0;
  EXPECT_THROW(save_checkpoint(job.world(), job.folder() / "step-000001.h5", state, some_tensors(), {}, {}),
               core::AgreedError);
}

TEST(Checkpoint, OnlyTheNewestFilesOfThisRunAreKept) {
  Job job;
  const CheckpointFolder folder(job.folder());
  if (job.root()) std::ofstream(folder.file_of(1)) << "not ours";
  auto other = some_state(2);
  other.run = "run-b";
  const auto tensors = some_tensors();
  const auto held = test::random_share(job.world(), tensors, 1, 2);
  ASSERT_EQ(save_checkpoint(job.world(), folder.file_of(2), other, tensors, held.pieces, {}).outcome,
            SaveOutcome::saved);
  for (const int64_t step : {3, 4, 5, 1000000}) {
    const auto report = save(job, step, 7, 2);
    ASSERT_EQ(report.outcome, SaveOutcome::saved) << report.problem;
    const std::vector<std::filesystem::path> expected = step == 5 ? std::vector{folder.file_of(3)}
                                                        : step == 1000000
                                                            ? std::vector{folder.file_of(4)}
                                                            : std::vector<std::filesystem::path>{};
    EXPECT_EQ(report.pruned, expected) << "at step " << step;
  }
  const std::vector<std::filesystem::path> left = {folder.file_of(1000000), folder.file_of(5),
                                                   folder.file_of(2), folder.file_of(1)};
  EXPECT_EQ(folder.list(), left);
}

TEST(Checkpoint, OrdinaryToolsReadIt) {
  Job job;
  const std::vector<TensorInfo> tensors = {{"model/ramp", {2, 3}, core::DType::f32}};
  std::vector<float> ramp = {0, 1, 2, 3, 4, 5};
  std::vector<Piece> pieces;
  if (job.root()) pieces.push_back({0, 0, 6, reinterpret_cast<std::byte*>(ramp.data())});
  const auto path = job.folder() / "step-000001.h5";
  ASSERT_EQ(save_checkpoint(job.world(), path, some_state(1), tensors, pieces, {}).outcome,
            SaveOutcome::saved);
  if (!job.root()) return;
  const auto quiet = " > " + (job.folder() / "log").string() + " 2>&1";
  if (std::system(("h5dump --version" + quiet).c_str()) == 0) {
    EXPECT_EQ(std::system(("h5dump " + path.string() + quiet).c_str()), 0);
  } else {
    std::printf("h5dump is not installed, so it was not tried\n");
  }
  // The MPI variables would make h5py's HDF5 believe that it is a rank of this job.
  const std::string python = "env -i PATH=/usr/bin:/bin /usr/bin/python3 -c \"";
  if (std::system((python + "import h5py\"" + quiet).c_str()) == 0) {
    const auto script =
        python + "import h5py; f = h5py.File('" + path.string() +
        "', 'r'); d = f['model/ramp']; assert d[()].tolist() == [[0, 1, 2], [3, 4, 5]]; "
        "assert d.attrs['unit'].decode() == '1' and d.attrs['meaning']; "
        "assert f['state'].attrs['step'] == 1; assert f['state/plan'][()].decode() == 'version = 1\\n'; "
        "b = f['blocks'][0]; assert b['count'] == 6 and b['xxh3'] != 0\"";
    EXPECT_EQ(std::system((script + quiet).c_str()), 0) << std::ifstream(job.folder() / "log").rdbuf();
  } else {
    std::printf("h5py is not installed, so it was not tried\n");
  }
}

TEST(Checkpoint, UnknownWaysOfWritingAreRefused) {
  EXPECT_EQ(parse_checkpoint_io("auto"), CheckpointIo::automatic);
  EXPECT_EQ(parse_checkpoint_io("aggregate"), CheckpointIo::aggregate);
  EXPECT_THROW(parse_checkpoint_io("rank 0"), core::UserError);
}

TEST(Checkpoint, EveryWayOfWritingGivesTheSameFile) {
  Job job;
  const auto tensors = some_tensors();
  const auto held = test::random_share(job.world(), tensors, 9, 9);
  std::vector<std::pair<int64_t, uint64_t>> expected;
  using enum CheckpointIo;
  for (const auto io : {aggregate, independent, collective}) {
    const auto path = job.folder() / (std::string(name_of(io)) + ".h5");
    CheckpointOptions options;
    options.io = io;
    const auto report = save_checkpoint(job.world(), path, some_state(1), tensors, held.pieces, options);
    ASSERT_EQ(report.outcome, SaveOutcome::saved) << name_of(io) << ": " << report.problem;
    EXPECT_EQ(report.remark, "") << name_of(io);
    verify_checkpoint(path);
    const auto found = test::blocks_of(path);
    if (io == aggregate) expected = found;
    EXPECT_EQ(found, expected) << name_of(io) << " wrote other blocks than aggregate";
    EXPECT_EQ(parse_checkpoint_io(std::string(name_of(io))), io);
  }
}

TEST(Checkpoint, RanksWithNothingToWriteTakePart) {
  Job job;
  const std::vector<TensorInfo> tensors = {{"model/only", {3'000'000}, core::DType::f32}};
  Held held;  // the last rank has all of it, in several blocks
  if (job.world().rank() == job.world().size() - 1) held.add(tensors, 0, 0, 3'000'000);
  for (const auto io : {CheckpointIo::independent, CheckpointIo::collective}) {
    CheckpointOptions options;
    options.io = io;
    const auto path = job.folder() / "one.h5";
    const auto report = save_checkpoint(job.world(), path, some_state(1), tensors, held.pieces, options);
    EXPECT_EQ(report.outcome, SaveOutcome::saved) << name_of(io) << ": " << report.problem;
    EXPECT_EQ(report.remark, "") << name_of(io);
    verify_checkpoint(path);
  }
}

TEST(Checkpoint, TheProbeFindsTheWayThatIsWanted) {
  Job job;
  using enum CheckpointIo;
  for (const auto io : {aggregate, independent, collective}) {
    const auto probed = probe_checkpoint_io(job.world(), job.folder(), io);
    EXPECT_EQ(probed.io, job.world().size() == 1 ? aggregate : io) << probed.problem;
    EXPECT_EQ(probed.problem, "");
  }
  EXPECT_EQ(probe_checkpoint_io(job.world(), job.folder(), automatic).io, aggregate);
  job.world().barrier();
  EXPECT_TRUE(std::filesystem::is_empty(job.folder())) << "the probe leaves nothing behind";
}

TEST(Checkpoint, EveryWayOfWritingIsTried) {
  Job job;
  for (const auto io : {CheckpointIo::automatic, CheckpointIo::aggregate, CheckpointIo::independent,
                        CheckpointIo::collective}) {
    const auto tried = try_checkpoint_io(job.world(), job.folder(), io, 1 << 20);
    EXPECT_TRUE(tried.ended && tried.problem.empty()) << name_of(io) << ": " << tried.problem;
    EXPECT_GT(tried.bytes_per_second, 0) << name_of(io);
    EXPECT_FALSE(try_checkpoint_io(job.world(), job.folder() / "absent", io, 1 << 20).problem.empty());
  }
  EXPECT_TRUE(std::filesystem::is_empty(job.folder()));
}

TEST(Checkpoint, AnAttemptThatHangsIsNoticedOnEveryRank) {
  Job job;
  auto gate = std::make_shared<std::promise<void>>();
  auto opened = std::make_shared<std::shared_future<void>>(gate->get_future());
  {
    const bool stuck = job.world().rank() == 0;
    Attempt attempt(job.world(), [opened, stuck](comm::World& twin) {
      if (stuck) opened->wait();
      twin.barrier();
    });
    EXPECT_FALSE(attempt.ends_within(0.05));
    gate->set_value();
    EXPECT_TRUE(attempt.ends_within(30.0));
  }
  Attempt quick(job.world(), [](comm::World& twin) { twin.barrier(); });
  EXPECT_TRUE(quick.ends_within(30.0));
}

TEST(Checkpoint, FilesOfChosenStepsAreKeptForEver) {
  Job job;
  const auto tensors = some_tensors();
  CheckpointOptions options;
  options.keep = 2;
  options.keep_every = 3;
  for (int64_t step = 1; step <= 8; ++step) {
    const auto held = test::random_share(job.world(), tensors, 1, static_cast<uint64_t>(step));
    save_checkpoint(job.world(), CheckpointFolder(job.folder()).file_of(step), some_state(step), tensors,
                    held.pieces, options);
  }
  std::vector<std::string> names;
  for (const auto& path : CheckpointFolder(job.folder()).list()) names.push_back(path.filename().string());
  EXPECT_EQ(names, (std::vector<std::string>{"step-000008.h5", "step-000007.h5", "step-000006.h5",
                                             "step-000003.h5"}));
}

}  // namespace
}  // namespace galvatron::store
