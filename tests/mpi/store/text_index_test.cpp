// A large text is packed once and mapped by all: the same tokens as when it is read, made again when the text
// or the index has changed, stopped when a rank is asked to, and elsewhere when its folder takes nothing.
#include "store/text_index.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "mpi/store/support.hpp"
#include "store/text_dataset.hpp"

namespace galvatron::store {
namespace {

namespace fs = std::filesystem;

class PackedText : public ::testing::Test {
 protected:
  PackedText() {
    write("a.txt", 700'000, "a line of text\n", "");
    write("b.txt", 3 * (256 << 10), "another one, of more words\n", "");  // a whole number of stretches
    write("c.txt", 5'000'000, "0123456789abcdef", "the last line does not end");
    write("empty.txt", 0, "", "");
    job_.world().barrier();
  }

  void write(const std::string& name, int64_t bytes, const std::string& line, const std::string& end) {
    if (!job_.root()) return;
    std::string text;
    while (static_cast<int64_t>(text.size()) < bytes) text += line + std::to_string(text.size());
    text.resize(static_cast<size_t>(bytes));
    fs::create_directory(data());
    std::ofstream(data() / name) << text << end;
  }

  comm::World& world() { return job_.world(); }
  fs::path data() const { return job_.folder() / "data"; }
  fs::path other() const { return job_.folder() / "run" / "index"; }

  TextOptions options(int64_t index_from = 1) {
    TextOptions options{{(data() / "*.txt").string()}, {}, 0.1};
    options.index_from = index_from;
    options.index_folder = other();
    return options;
  }

  std::vector<fs::path> files_in(const fs::path& folder) const {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored))
      if (entry.path().filename().string().starts_with(".galvatron")) files.push_back(entry.path());
    return files;
  }

  /// Everything rank 0 does to files, with nobody looking.
  template <class Change>
  void change(Change change) {
    world().barrier();
    if (job_.root()) change();
    world().barrier();
  }

  void expect_same(const Dataset& a, const Dataset& b) {
    ASSERT_EQ(a.tokens(), b.tokens());
    EXPECT_EQ(a.fingerprint(), b.fingerprint());
    std::vector<int32_t> left(static_cast<size_t>(a.tokens())), right(left.size());
    a.read(0, left);
    b.read(0, right);
    EXPECT_EQ(left, right);
  }

  TextDatasets load(const TextOptions& options, const std::string& how) {
    auto sets = load_text(world(), options);
    EXPECT_NE(sets.index.find(how), std::string::npos) << sets.index << ", expected " << how;
    return sets;
  }

  test::Job job_;
};

TEST_F(PackedText, HoldsTheTokensOfTheTextItself) {
  const auto read = load_text(world(), options(int64_t{1} << 40));
  EXPECT_TRUE(read.index.empty());
  const auto packed = load(options(), "made now"), again = load(options(), "used again");
  for (const auto* sets : {&packed, &again}) {
    expect_same(*sets->train, *read.train);
    expect_same(*sets->valid, *read.valid);
    EXPECT_EQ(sets->files, read.files);
    EXPECT_TRUE(sets->warnings.empty());
  }
  EXPECT_EQ(files_in(data()).size(), 1U) << "nothing but the index is left";
}

TEST_F(PackedText, IsMadeAgainWhenTheTextHasChanged) {
  const auto before = load(options(), "made now").train->fingerprint();
  change([&] { write("a.txt", 700'001, "changed\n", ""); });
  const auto after = load(options(), "made now");
  EXPECT_NE(after.train->fingerprint(), before);
  expect_same(*after.train, *load_text(world(), options(int64_t{1} << 40)).train);
  EXPECT_EQ(files_in(data()).size(), 1U) << "the older one was replaced";
  // The same bytes, written later, may be others for all that is known.
  change([&] {
    fs::last_write_time(data() / "b.txt", fs::file_time_type::clock::now() + std::chrono::hours(1));
  });
  EXPECT_EQ(load(options(), "made now").train->fingerprint(), after.train->fingerprint());
}

TEST_F(PackedText, IsMadeAgainWhenItIsDamaged) {
  const auto whole = load(options(), "made now");
  const auto index = files_in(data()).at(0);
  const auto size = static_cast<int64_t>(fs::file_size(index));
  struct Damage {
    int64_t at;
    bool cut;
  };
  // Header, training text, validation text, block table; cut short everywhere.
  for (const auto& damage : {Damage{2, false},
                             {30, false},
                             {5'000'000, false},
                             {size - 100'000, false},
                             {size - 3, false},
                             {10, true},
                             {4'000'000, true},
                             {size - 1, true}}) {
    change([&] {
      if (damage.cut) return fs::resize_file(index, static_cast<uintmax_t>(damage.at));
      std::fstream file(index, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(damage.at);
      const auto byte = static_cast<char>(file.get() ^ 4);
      file.seekp(damage.at);
      file.put(byte);
    });
    const auto mended = load(options(), "made now");
    EXPECT_EQ(mended.train->fingerprint(), whole.train->fingerprint()) << "byte " << damage.at;
    expect_same(*mended.valid, *whole.valid);
  }
  EXPECT_EQ(files_in(data()).size(), 1U);
}

TEST_F(PackedText, LiesInTheOtherFolderWhereItsOwnTakesNone) {
  // A folder of its name is in the way: what stops others, a mode without writing, does not stop root.
  const auto name = index_name_of(find_text(options()));
  const auto expected = load_text(world(), options(int64_t{1} << 40));
  change([&] { fs::create_directory(data() / name); });
  auto sets = load(options(), (other() / name).string() + " (made now)");
  expect_same(*sets.train, *expected.train);
  load(options(), (other() / name).string() + " (used again)");
  change([&] {
    fs::remove(other() / name);
    fs::create_directory(other() / name);
  });
  sets = load_text(world(), options());
  EXPECT_TRUE(sets.index.empty());
  ASSERT_EQ(sets.warnings.size(), 1U);
  EXPECT_NE(sets.warnings[0].find("is not packed"), std::string::npos) << sets.warnings[0];
  expect_same(*sets.train, *expected.train);
  EXPECT_EQ(files_in(data()).size(), 1U) << "a draft is left";
}

TEST_F(PackedText, ABuilderThatIsStoppedLeavesNothing) {
  if (!job_.root()) return;
  const auto sources = find_text(options());
  {
    TextIndexBuilder builder(sources, data());
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(builder.work(0)) << "one stretch at a time";
    EXPECT_FALSE(files_in(data()).empty());
    EXPECT_FALSE(store::TextIndex::open(data(), sources).has_value()) << "published before its end";
  }
  EXPECT_TRUE(files_in(data()).empty());
}

TEST_F(PackedText, TwoJobsAtOnceDoNotDisturbEachOther) {
  if (!job_.root()) return;
  const auto sources = find_text(options());
  std::optional<store::TextIndex> first, second;
  {
    TextIndexBuilder one(sources, data()), other(sources, data());
    while (!one.work(0)) EXPECT_FALSE(other.work(0));
    first = store::TextIndex::open(data(), sources);
    while (!other.work(0)) continue;
    second = store::TextIndex::open(data(), sources);
  }
  ASSERT_TRUE(first && second);
  for (const auto* index : {&*first, &*second})  // the first is mapped still, under no name
    for (int64_t block = 0; block < index->blocks(); ++block)
      EXPECT_TRUE(index->block_is_whole(block)) << block;
  expect_same(*first->train(), *second->train());
  EXPECT_EQ(files_in(data()).size(), 1U);
}

TEST_F(PackedText, AnyRankEndsTheWorkOnAll) {
  auto asked = options();
  asked.alive = [&](std::string_view what) {
    if (world().rank() == world().size() - 1 && what.starts_with("pack"))
      throw core::Error(core::ExitCode::requeue, "asked to stop: " + std::string(what));
  };
  try {
    load_text(world(), asked);
    ADD_FAILURE() << "on rank " << world().rank() << " nothing was thrown";
  } catch (const core::AgreedError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::requeue);
  }
  world().barrier();
  for (const auto& file : files_in(data()))
    EXPECT_EQ(file.filename().string().find("draft"), std::string::npos) << file << " is left";
  // Rank 0 may have come to the end in the slice in which another rank was asked.
  EXPECT_FALSE(load_text(world(), options()).index.empty());
}

}  // namespace
}  // namespace galvatron::store
