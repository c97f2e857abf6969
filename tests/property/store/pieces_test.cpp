// A piece that repeats is the same as its stretches one by one: in the rows of the block table, in what ranks
// cover together, and in the table read back; and no list grows with how often it repeats.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <tuple>

#include "core/errors.hpp"
#include "store/checkpoint_pieces.hpp"

namespace galvatron::store {
namespace {

constexpr int rounds = 200;

/// Matrices of random shapes and types, each cut by rows and columns at random places among ranks: the slabs
/// of every rank, in random order. Some parts are empty.
struct Share {
  std::vector<TensorInfo> tensors;
  std::vector<std::vector<Slab>> ranks;
};

std::vector<int64_t> cuts_of(std::mt19937_64& generator, int64_t extent) {
  std::vector<int64_t> cuts = {0, extent};
  for (auto more = generator() % 4; more > 0; --more)
    cuts.push_back(static_cast<int64_t>(generator() % static_cast<uint64_t>(extent + 1)));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

Share random_share(std::mt19937_64& generator, int64_t longest = 40) {
  Share share;
  share.ranks.resize(1 + generator() % 5);
  const auto extent = [&] { return 1 + static_cast<int64_t>(generator() % static_cast<uint64_t>(longest)); };
  for (int64_t t = 0; t < 4; ++t) {
    const auto rows = extent(), cols = extent();
    share.tensors.push_back({"model/" + std::to_string(t),
                             {rows, cols},
                             generator() % 2 == 0 ? core::DType::f32 : core::DType::f64});
    const auto across = cuts_of(generator, rows), along = cuts_of(generator, cols);
    for (size_t i = 0; i + 1 < across.size(); ++i)
      for (size_t j = 0; j + 1 < along.size(); ++j) {
        const auto times = across[i + 1] - across[i], count = along[j + 1] - along[j];
        if (times == 0) continue;
        share.ranks[generator() % share.ranks.size()].push_back(
            {t, across[i] * cols + along[j], count, times, times > 1 ? cols : 0});
      }
  }
  for (auto& slabs : share.ranks) std::shuffle(slabs.begin(), slabs.end(), generator);
  return share;
}

std::vector<Slab> one_by_one(const std::vector<Slab>& slabs) {
  std::vector<Slab> stretches;
  for (const auto& slab : slabs)
    for (int64_t time = 0; time < slab.times; ++time)
      stretches.push_back({slab.tensor, slab.offset + time * slab.stride, slab.count});
  return stretches;
}

std::vector<std::vector<Slab>> one_by_one(const std::vector<std::vector<Slab>>& ranks) {
  std::vector<std::vector<Slab>> all;
  for (const auto& slabs : ranks) all.push_back(one_by_one(slabs));
  return all;
}

auto values_of(const BlockRow& row) {
  return std::tuple(row.tensor, row.offset, row.count, row.address, row.bytes, row.writer);
}

std::vector<BlockRow> rows_of(const Share& share, size_t rank, const std::vector<Slab>& slabs) {
  Layout layout;
  int64_t address = 4096;
  for (const auto& tensor : share.tensors) {
    layout.tensors.push_back(address);
    address += tensor.elements() * core::size_of(tensor.dtype) + 24;
  }
  OwnRows walk(share.tensors, slabs, static_cast<int64_t>(rank), layout);
  std::vector<BlockRow> rows;
  while (const auto row = walk.next()) rows.push_back(*row);
  EXPECT_EQ(row_count(share.tensors, slabs), static_cast<int64_t>(rows.size()));
  return rows;
}

void expect_equal(const std::vector<BlockRow>& found, const std::vector<BlockRow>& expected,
                  const std::string& text) {
  ASSERT_EQ(found.size(), expected.size()) << text;
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(values_of(found[i]), values_of(expected[i])) << text << ", row " << i;
}

std::string refusal(const std::vector<TensorInfo>& tensors, const std::vector<std::vector<Slab>>& ranks) {
  try {
    check_coverage(tensors, ranks);
  } catch (const core::InternalError& error) {
    return error.what();
  }
  return "";
}

TEST(Pieces, GiveTheRowsOfTheirStretches) {
  std::mt19937_64 generator(1);
  for (int round = 0; round < rounds; ++round) {
    const auto share = random_share(generator);
    for (size_t rank = 0; rank < share.ranks.size(); ++rank)
      expect_equal(rows_of(share, rank, share.ranks[rank]),
                   rows_of(share, rank, one_by_one(share.ranks[rank])), "round " + std::to_string(round));
  }
}

TEST(Pieces, LongStretchesAreCutIntoBlocks) {
  constexpr int64_t most = block_bytes / 4;
  Share share;
  share.tensors = {{"model/long", {3, 2 * most + 5}, core::DType::f32}};
  const std::vector<Slab> slabs = {{0, 0, 2 * most + 1, 3, 2 * most + 5}};
  const auto rows = rows_of(share, 0, slabs);
  expect_equal(rows, rows_of(share, 0, one_by_one(slabs)), "long");
  ASSERT_EQ(rows.size(), 9U);
  EXPECT_EQ(rows[4].offset, 2 * most + 5 + most);
  EXPECT_EQ(rows[5].count, 1);
}

TEST(Pieces, CoverWhatTheirStretchesCover) {
  std::mt19937_64 generator(2);
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    auto share = random_share(generator);
    EXPECT_EQ(refusal(share.tensors, share.ranks), "") << "round " << round;
    // One piece loses or wins a row, or moves.
    auto& slabs = share.ranks[generator() % share.ranks.size()];
    if (slabs.empty()) continue;
    auto& slab = slabs[generator() % slabs.size()];
    const auto change = generator() % 3;
    if (change == 0) ++slab.offset;
    if (change == 1) slab.times = std::max<int64_t>(1, slab.times - 1);
    if (change == 2) ++slab.count;
    const auto text = refusal(share.tensors, share.ranks),
               expected = refusal(share.tensors, one_by_one(share.ranks));
    // Who has too many elements is said of the whole piece, so those texts differ.
    EXPECT_EQ(text.empty(), expected.empty())
        << "round " << round << ": '" << text << "', '" << expected << "'";
    if (text.find("is given by") != std::string::npos && expected.find("is given by") != std::string::npos) {
      EXPECT_EQ(text, expected) << "round " << round;
    }
    refused += text.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, rounds / 3);
}

TEST(Pieces, MustMakeSense) {
  const std::vector<TensorInfo> tensors = {{"model/a", {4, 5}, core::DType::f32}};
  const auto refuses = [&](const Slab& slab) { return !refusal(tensors, {{slab}}).empty(); };
  EXPECT_FALSE(refuses({0, 0, 5, 4, 5}));
  EXPECT_TRUE(refuses({0, 0, 5, 5, 5})) << "a row too many";
  EXPECT_TRUE(refuses({0, 0, 5, 4, 4})) << "rows overlap";
  EXPECT_TRUE(refuses({0, 0, 5, 0, 5})) << "no row";
  EXPECT_TRUE(refuses({0, 0, 1, int64_t{1} << 62, int64_t{1} << 62})) << "beyond all numbers";
}

/// A table as writers make it, and one of rows that follow no rule.
TEST(Tables, AreReadBackRowForRow) {
  std::mt19937_64 generator(3);
  for (int round = 0; round < rounds; ++round) {
    const auto share = random_share(generator);
    std::vector<BlockRow> table;
    for (size_t rank = 0; rank < share.ranks.size(); ++rank)
      for (const auto& row : rows_of(share, rank, share.ranks[rank])) table.push_back(row);
    if (round % 4 == 3)
      for (auto& row : table) row.count = static_cast<int64_t>(generator() % 3) - 1;
    std::vector<BlockRun> runs;
    for (size_t at = 0; at < table.size();) {
      const auto size = std::min<size_t>(table.size() - at, 1 + generator() % 50);
      append_runs(runs, std::span(table).subspan(at, size), static_cast<int64_t>(at));
      at += size;
    }
    std::vector<BlockRow> again;
    for (const auto& run : runs) {
      ASSERT_EQ(run.index, static_cast<int64_t>(again.size()));
      for (int64_t time = 0; time < run.times; ++time) again.push_back(run.row(time));
    }
    expect_equal(again, table, "round " + std::to_string(round));

    BlockWalk walk(runs);
    std::sort(table.begin(), table.end(),
              [](const BlockRow& a, const BlockRow& b) { return a.address < b.address; });
    std::vector<BlockRow> ascending;
    while (const auto row = walk.next()) {
      ASSERT_EQ(values_of(*row), values_of(again[static_cast<size_t>(walk.index())]));
      ascending.push_back(*row);
    }
    expect_equal(ascending, table, "ascending, round " + std::to_string(round));
  }
}

TEST(Tables, OfFilesThatNobodyWroteAreNotBelieved) {
  constexpr auto most = std::numeric_limits<int64_t>::max();
  const std::vector<BlockRow> rows = {{0, 0, 1, 0, 4},    {0, most, 1, most, 4}, {0, -most, 1, -most, 4},
                                      {0, 8, 0, 100, 4},  {0, 9, 1, 50, 4},      {0, 9, 1, 50, 4},
                                      {0, most, 1, 9, 4}, {0, 1, most, 9, most}};
  std::vector<BlockRun> runs;
  append_runs(runs, rows, 0);
  ASSERT_EQ(runs.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(values_of(runs[i].row(0)), values_of(rows[i])) << i;
  EXPECT_FALSE(is_sound(rows[1]) || is_sound(rows[2]) || is_sound(rows[3]) || is_sound(rows[7]));
}

TEST(Lists, DoNotGrowWithTheNumberOfRows) {
  size_t runs_of_few = 0;
  for (const int64_t rows : {8, 100'000}) {
    Share share;
    share.tensors = {{"model/down.weight", {rows, 64}, core::DType::f32}};
    for (int64_t rank = 0; rank < 4; ++rank) share.ranks.push_back({{0, 16 * rank, 16, rows, 64}});
    EXPECT_EQ(refusal(share.tensors, share.ranks), "");
    std::vector<BlockRun> runs;
    int64_t index = 0;
    for (size_t rank = 0; rank < 4; ++rank) {
      const auto table = rows_of(share, rank, share.ranks[rank]);
      ASSERT_EQ(static_cast<int64_t>(table.size()), rows);
      append_runs(runs, table, index);
      index += rows;
    }
    if (runs_of_few == 0) runs_of_few = runs.size();
    EXPECT_EQ(runs.size(), runs_of_few) << rows << " rows";
  }
  EXPECT_EQ(runs_of_few, 4U);
}

TEST(Interleaved, VisitsEveryPlaceInOrder) {
  std::mt19937_64 generator(4);
  for (int round = 0; round < rounds; ++round) {
    std::vector<Repeated> things;
    std::vector<std::tuple<int64_t, int64_t, int64_t>> expected;
    for (int64_t owner = static_cast<int64_t>(generator() % 20); owner >= 0; --owner) {
      const Repeated thing{static_cast<int64_t>(generator() % 100), 1 + static_cast<int64_t>(generator() % 9),
                           static_cast<int64_t>(generator() % 30), owner};
      things.push_back(thing);
      for (int64_t time = 0; time < thing.times; ++time)
        expected.emplace_back(thing.begin + time * thing.stride, owner, time);
    }
    std::sort(expected.begin(), expected.end());
    std::vector<std::tuple<int64_t, int64_t, int64_t>> found;
    Interleaved walk(things);
    while (const auto place = walk.next()) found.emplace_back(place->at, place->owner, place->time);
    EXPECT_EQ(found, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace galvatron::store
