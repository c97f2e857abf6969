// Every rank gets the same text, which only rank 0 has read.
#include <gtest/gtest.h>

#include <fstream>

#include "core/errors.hpp"
#include "mpi/store/support.hpp"
#include "store/text_dataset.hpp"

namespace galvatron::store {
namespace {

using test::Job;

std::string text_of(const Dataset& data) {
  std::vector<int32_t> tokens(static_cast<size_t>(data.tokens()));
  data.read(0, tokens);
  return {tokens.begin(), tokens.end()};
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

/// The folder as other ranks name it does not exist: only rank 0 may look.
std::string glob_of(Job& job, const std::string& rest) {
  return (job.root() ? job.folder() : std::filesystem::path("/nowhere")).string() + "/" + rest;
}

TEST(Text, FilesFollowEachOtherInPathOrder) {
  Job job;
  if (job.root()) {
    write(job.folder() / "b.md", "second");
    write(job.folder() / "a" / "x.md", "first\n");
    write(job.folder() / "a" / "x.txt", "other");
  }
  const auto sets = load_text(
      job.world(), {{glob_of(job, "**/*.md"), glob_of(job, "a/*.md"), glob_of(job, "*.rst")}, {}, 0.0});
  EXPECT_EQ(text_of(*sets.train), "first\nsecond\n");
  EXPECT_EQ(sets.valid, nullptr);
  EXPECT_EQ(sets.files, 2);
  ASSERT_EQ(sets.warnings.size(), 1U);
  EXPECT_NE(sets.warnings[0].find("*.rst\" matches no file"), std::string::npos) << sets.warnings[0];
  const auto prints = job.world().all_gather(sets.train->fingerprint());
  for (const auto& print : prints) EXPECT_EQ(print, prints[0]);
}

TEST(Text, ValidationComesFromTheEndOfEveryStretch) {
  Job job;
  std::string longer;
  for (int i = 0; i < 60'000; ++i) longer += "line " + std::to_string(100'000 + i) + "\n";  // 12 bytes each
  if (job.root()) {
    write(job.folder() / "long.txt", longer);
    write(job.folder() / "short.txt", "0123456789\n0123456789\n0123456789\nend\n");
  }
  const auto sets = load_text(job.world(), {{glob_of(job, "*.txt")}, {}, 0.1});
  const auto train = text_of(*sets.train);
  const auto valid = text_of(*sets.valid);
  EXPECT_EQ(train.size() + valid.size(), longer.size() + 37);
  EXPECT_NEAR(static_cast<double>(valid.size()), 0.1 * static_cast<double>(longer.size()), 100.0);
  EXPECT_EQ(valid.substr(valid.size() - 4), "end\n");
  EXPECT_EQ(train.substr(train.size() - 11), "0123456789\n");
  // 720000 bytes are two stretches of 256 KiB and a part: validation begins at 90 % of each, at a line.
  for (const int64_t from : {0, 262144, 524288}) {
    const auto length = std::min<int64_t>(262144, static_cast<int64_t>(longer.size()) - from);
    const auto middle = (from + length * 95 / 100) / 12 * 12;
    EXPECT_NE(valid.find(longer.substr(static_cast<size_t>(middle), 24)), std::string::npos)
        << "stretch at " << from;
  }
}

TEST(Text, OwnValidationFilesAreNotTrainedOn) {
  Job job;
  if (job.root()) {
    write(job.folder() / "a.txt", "train");
    write(job.folder() / "z.txt", "valid");
  }
  const auto sets = load_text(job.world(), {{glob_of(job, "*.txt")}, {glob_of(job, "z.txt")}, 0.5});
  EXPECT_EQ(text_of(*sets.train), "train\n");
  EXPECT_EQ(text_of(*sets.valid), "valid\n");
  EXPECT_EQ(sets.warnings.size(), 1U);
}

TEST(Text, NoTextIsAnAgreedErrorOfTheData) {
  Job job;
  try {
    load_text(job.world(), {{glob_of(job, "*.md")}, {}, 0.1});
    ADD_FAILURE() << "no error";
  } catch (const core::AgreedError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::data);
    EXPECT_NE(std::string(error.what()).find("*.md"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace galvatron::store
