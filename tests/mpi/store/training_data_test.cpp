// What a deck names becomes the same tokens on every rank; what is wrong with a file ends the job on all
// ranks alike, whichever of them had to look at the place.
#include "store/training_data.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "mpi/store/support.hpp"
#include "unit/store/token_bytes.hpp"

namespace galvatron::store {
namespace {

using test::Job;

std::vector<int32_t> ids_of(const Dataset& data) {
  std::vector<int32_t> ids(static_cast<size_t>(data.tokens()));
  data.read(0, ids);
  return ids;
}

/// first, first + 1, …
std::vector<int64_t> count_from(int64_t first, int64_t count) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(first + i);
  return ids;
}

void write_llmc(const std::filesystem::path& path, const std::vector<int64_t>& ids) {
  test::write_bytes(path, test::llmc_header(20240520, 1, static_cast<int32_t>(ids.size())) +
                              test::bytes_of_ids<uint16_t>(ids));
}

void write_megatron(const std::filesystem::path& prefix, const std::vector<int64_t>& ids, int32_t document) {
  std::vector<int32_t> lengths;
  for (size_t i = 0; i < ids.size(); i += static_cast<size_t>(document)) lengths.push_back(document);
  test::write_bytes(prefix.string() + ".bin", test::bytes_of_ids<uint16_t>(ids));
  test::write_bytes(prefix.string() + ".idx", test::megatron_index(8, 2, lengths));
}

DataOptions options_of(const std::string& format, const std::vector<std::string>& train) {
  DataOptions options;
  options.format = format;
  options.train = train;
  options.split = 0.0;
  options.vocabulary = 1000;
  return options;
}

/// The text with which all ranks refuse these data.
std::string refusal(Job& job, const DataOptions& options) {
  try {
    load_training_data(job.world(), options);
  } catch (const core::AgreedError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::data) << error.what();
    return error.text();
  }
  return "accepted";
}

TEST(TrainingData, FilesOfASourceFollowEachOtherAndEndInValidation) {
  Job job;
  const auto folder = job.folder().string();
  if (job.root()) {
    write_megatron(folder + "/a", count_from(0, 100), 10);
    write_megatron(folder + "/b", count_from(500, 50), 5);
  }
  job.world().barrier();
  auto options = options_of("megatron", {folder + "/*", folder + "/none"});
  options.split = 0.1;
  const auto data = load_training_data(job.world(), options);
  EXPECT_EQ(data.files, 2);
  ASSERT_EQ(data.warnings.size(), 1U);
  EXPECT_NE(data.warnings[0].find("/none\" matches no file"), std::string::npos);
  const auto train = ids_of(*data.train), valid = ids_of(*data.valid);
  ASSERT_EQ(train.size(), 135U);
  EXPECT_EQ(train[89], 89);
  EXPECT_EQ(train[90], 500);
  EXPECT_EQ(train[134], 544);
  EXPECT_EQ(valid, (std::vector<int32_t>{90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 545, 546, 547, 548, 549}));
  for (const auto& print : job.world().all_gather(data.train->fingerprint()))
    EXPECT_EQ(print, data.train->fingerprint());
}

TEST(TrainingData, WeightsMakeOneSourceOfEachEntry) {
  Job job;
  const auto folder = job.folder().string();
  if (job.root()) {
    write_llmc(folder + "/a.bin", count_from(0, 100));
    write_llmc(folder + "/b1.bin", count_from(200, 40));
    write_llmc(folder + "/b2.bin", count_from(300, 40));
    write_llmc(folder + "/v.bin", count_from(900, 30));
  }
  job.world().barrier();
  auto options = options_of("llmc", {folder + "/a.bin", folder + "/b?.bin"});
  options.valid = {folder + "/v.bin"};
  options.weights = {3, 1};
  const auto data = load_training_data(job.world(), options);
  ASSERT_EQ(data.parts.size(), 2U);
  EXPECT_EQ(data.parts[1].begin, 100);
  EXPECT_EQ(data.parts[1].tokens, 80);
  EXPECT_EQ(ids_of(*data.train)[140], 300);
  EXPECT_EQ(ids_of(*data.valid)[29], 929);
  options.weights = {1, 3};
  EXPECT_NE(load_training_data(job.world(), options).train->fingerprint(), data.train->fingerprint())
      << "other weights are other data";
}

TEST(TrainingData, TextsBlendToo) {
  Job job;
  const auto folder = job.folder().string();
  if (job.root()) {
    test::write_bytes(folder + "/a.txt", "aaaa");
    test::write_bytes(folder + "/b.txt", "bb");
    test::write_bytes(folder + "/v.txt", "valid");
  }
  job.world().barrier();
  auto options = options_of("text", {folder + "/a.txt", folder + "/b.txt"});
  options.valid = {folder + "/v.txt"};
  options.weights = {1, 1};
  const auto data = load_training_data(job.world(), options);
  ASSERT_EQ(data.parts.size(), 2U);
  EXPECT_EQ(data.parts[1].begin, 5);
  EXPECT_EQ(data.train->tokens(), 8);
  EXPECT_EQ(data.valid->tokens(), 6) << "validation text is there once";
}

TEST(TrainingData, SyntheticTokensFollowFromTheSeed) {
  Job job;
  auto options = options_of("synthetic", {"no files"});
  options.synthetic_tokens = 1000;
  options.split = 0.2;
  options.seed = 4;
  const auto data = load_training_data(job.world(), options);
  EXPECT_EQ(data.train->tokens(), 800);
  EXPECT_EQ(data.valid->tokens(), 200);
  EXPECT_EQ(ids_of(*load_training_data(job.world(), options).train), ids_of(*data.train));
  options.seed = 5;
  EXPECT_NE(ids_of(*load_training_data(job.world(), options).train), ids_of(*data.train));
}

TEST(TrainingData, WhatIsWrongEndsTheJobOnAllRanksAlike) {
  Job job;
  const auto folder = job.folder().string();
  const auto good = count_from(0, 600);
  if (job.root()) {
    auto bad = good;
    bad[550] = 1000;  // in the last rank's share
    write_llmc(folder + "/ids.bin", bad);
    write_megatron(folder + "/cut", good, 10);
    std::filesystem::resize_file(folder + "/cut.bin", 1198);
    write_megatron(folder + "/index", good, 10);
    auto index = test::megatron_index(8, 2, std::vector<int32_t>(60, 10));
    index[34 + 60 * 4 + 31 * 8] ^= 2;
    test::write_bytes(folder + "/index.idx", index);
  }
  job.world().barrier();
  const auto refused = [&](const std::string& format, const std::string& name) {
    return refusal(job, options_of(format, {folder + "/" + name}));
  };
  EXPECT_EQ(refused("llmc", "ids.bin"),
            folder +
                "/ids.bin: byte 2124: expected a token id below the vocabulary of 1000, found 1000 (token "
                "number 550)");
  EXPECT_EQ(refused("megatron", "cut"), folder + "/cut.bin: byte 1198: expected 2 more bytes, as " + folder +
                                            "/cut.idx says, found the end of the file");
  EXPECT_EQ(refused("megatron", "index"),
            folder + "/index.idx: byte 522: expected 620, the end of the sequence before, found 622");
  EXPECT_NE(refused("megatron", "nothing").find("no megatron files in"), std::string::npos);
}

TEST(TrainingData, RanksThatSeeOtherFilesAreFound) {
  Job job;
  if (job.world().size() == 1) GTEST_SKIP() << "one rank sees what it sees";
  // A relative name means another file on every rank, as a local disk of every node would.
  const auto here = std::filesystem::current_path();
  const auto mine = job.folder() / std::to_string(job.world().rank());
  job.world().barrier();
  std::filesystem::create_directories(mine);
  write_llmc(mine / "local.bin", count_from(job.world().rank() == 1 ? 1 : 0, 100));
  std::filesystem::current_path(mine);
  const auto text = refusal(job, options_of("llmc", {"local.bin"}));
  std::filesystem::current_path(here);
  EXPECT_NE(text.find("data.train: rank 1 on "), std::string::npos) << text;
  EXPECT_NE(text.find("are the files the same on every node?"), std::string::npos) << text;
}

/// Reading ends on all ranks when one of those that read is told to stop.
TEST(TrainingData, WhoeverReadsIsHeardAndMayStopAll) {
  Job job;
  if (job.root()) {
    write_llmc(job.folder() / "a.bin", count_from(0, 50));
    test::write_bytes(job.folder() / "b.txt", std::string(2000, 'b'));
  }
  job.world().barrier();
  for (const auto& [format, name] : {std::pair("llmc", "a.bin"), std::pair("text", "b.txt")}) {
    const auto path = (job.folder() / name).string();
    auto options = options_of(format, {path});
    std::vector<std::string> heard;
    options.alive = [&](std::string_view what) { heard.emplace_back(what); };
    load_training_data(job.world(), options);
    if (job.root()) {
      ASSERT_FALSE(heard.empty()) << format;
      EXPECT_EQ(heard.front(), path);
    }
    options.alive = [&](std::string_view) {
      if (job.root()) throw core::Error(core::ExitCode::requeue, "stopped");
    };
    try {
      load_training_data(job.world(), options);
      ADD_FAILURE() << format << ": no error on rank " << job.world().rank();
    } catch (const core::AgreedError& error) {
      EXPECT_EQ(error.code(), core::ExitCode::requeue) << error.what();
    }
  }
}

}  // namespace
}  // namespace galvatron::store
