// More tokens than 32 bits count. The files are sparse: they claim terabytes of nothing and hold a few pages.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <set>

#include "store/dataset.hpp"
#include "store/hdf5.hpp"
#include "store/token_file.hpp"
#include "support/folder.hpp"
#include "unit/store/token_bytes.hpp"

namespace galvatron::store {
namespace {

constexpr int64_t past_signed = (int64_t{1} << 31) + 5, past_unsigned = (int64_t{1} << 32) + 9;
constexpr int64_t tokens = past_unsigned + 1000;

/// Writes a recognisable id of two bytes at some tokens, the rest is holes.
void mark(const std::filesystem::path& path, int64_t offset, const std::vector<int64_t>& places) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  for (const auto place : places) {
    const auto id = static_cast<uint16_t>(place % 997 + 1);
    file.seekp(offset + 2 * place);
    file.write(reinterpret_cast<const char*>(&id), 2);
  }
}

void expect_marks(const TokenFile& file, const std::vector<int64_t>& places) {
  const auto data = open_token_file(file, 1000);
  ASSERT_EQ(data->tokens(), tokens);
  for (const auto place : places) {
    std::vector<int32_t> read(3);
    data->read(place - 1, read);
    EXPECT_EQ(read[1], place % 997 + 1) << "token " << place;
    EXPECT_EQ(read[0], 0);
  }
  EXPECT_EQ(data->fingerprint(), open_token_file(file, 1000)->fingerprint());
}

const std::vector<int64_t> places = {7, past_signed, past_unsigned, tokens - 2};

TEST(LargeDatasets, MegatronBeyond32Bits) {
  const test::Folder folder;
  const auto data = folder.path() / "large.bin";
  constexpr auto longest = std::numeric_limits<int32_t>::max();
  std::vector<int32_t> lengths = {longest, longest};
  lengths.push_back(static_cast<int32_t>(tokens - 2 * int64_t{longest}));
  test::write_bytes(folder.path() / "large.idx", test::megatron_index(8, 2, lengths));
  test::write_bytes(data, "");
  std::filesystem::resize_file(data, 2 * tokens);
  mark(data, 0, places);
  expect_marks(read_token_file(TokenFormat::megatron, data), places);
}

TEST(LargeDatasets, Hdf5Beyond32Bits) {
  const test::Folder folder;
  const auto path = folder.path() / "large.h5";
  {
    auto file = h5::create_file(path, 0);
    const hsize_t size = tokens;
    const h5::Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
    const h5::Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
    {
      const h5::Handle dataset(H5Dcreate2(file.get(), "tokens", H5T_STD_U16LE, space.get(), H5P_DEFAULT,
                                          creation.get(), H5P_DEFAULT),
                               H5Dclose);
    }
    file.close();
  }
  const auto found = read_token_file(TokenFormat::tokens, path);
  mark(path, found.offset, places);
  expect_marks(found, places);
}

TEST(LargeDatasets, OrderReachesWindowsBeyond32Bits) {
  constexpr int64_t seq = 1023;
  const SampleOrder order(3, int64_t{1} << 50, seq, "data");
  EXPECT_EQ(order.windows(), int64_t{1} << 40);
  std::set<int64_t> seen;
  int64_t far = 0;
  for (const auto first : {int64_t{0}, past_unsigned, order.windows() - 500, order.windows()})
    for (int64_t sample = first; sample < first + 500; ++sample) {
      const auto offset = order.offset_of(sample);
      EXPECT_EQ(offset % (seq + 1), 0);
      EXPECT_GE(offset, 0);
      EXPECT_LT(offset, int64_t{1} << 50);
      if (sample < order.windows()) {
        EXPECT_TRUE(seen.insert(offset).second) << "sample " << sample;
      }
      far += offset > int64_t{1} << 42 ? 1 : 0;
    }
  EXPECT_GT(far, 1500) << "nearly all windows lie beyond the first 256th";
}

}  // namespace
}  // namespace galvatron::store
