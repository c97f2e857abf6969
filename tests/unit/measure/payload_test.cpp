// Every way in which a message can be wrong must show.
#include "measure/payload.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace galvatron::measure {
namespace {

std::vector<std::byte> made(const Message& m) {
  std::vector<std::byte> data(static_cast<size_t>(m.bytes));
  fill_payload(data, m);
  return data;
}

TEST(Payload, IsRecognised) {
  for (const int64_t bytes : {1, 7, 8, 9, 31, 4096}) {
    const Message m{3, 5, bytes, 17};
    EXPECT_FALSE(find_mismatch(made(m), m).has_value()) << bytes << " bytes";
  }
}

TEST(Payload, EveryByteIsLookedAt) {
  const Message m{0, 1, 45, 2};
  for (size_t i = 0; i < 45; ++i) {
    auto data = made(m);
    data[i] ^= std::byte{0x10};
    EXPECT_EQ(find_mismatch(data, m), static_cast<int64_t>(i));
  }
}

TEST(Payload, BelongsToOneSenderReceiverSizeAndIteration) {
  const Message m{1, 2, 64, 9};
  const auto data = made(m);
  EXPECT_TRUE(find_mismatch(data, {2, 2, 64, 9}).has_value()) << "another sender";
  EXPECT_TRUE(find_mismatch(data, {1, 3, 64, 9}).has_value()) << "another receiver";
  EXPECT_TRUE(find_mismatch(data, {2, 1, 64, 9}).has_value()) << "the other direction";
  EXPECT_TRUE(find_mismatch(data, {1, 2, 64, 8}).has_value()) << "an older message";
  EXPECT_TRUE(find_mismatch(std::span(data).first(32), {1, 2, 32, 9}).has_value()) << "another size";
}

TEST(LinkError, NamesTheLink) {
  const LinkError error({4, 7, 4096, 12}, 99, "alpha", "beta");
  const std::string text = error.what();
  for (const char* part : {"rank 4 (alpha)", "rank 7 (beta)", "byte 99", "4096 bytes", "iteration 12"})
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is missing in: " << text;
  EXPECT_EQ(error.code(), core::ExitCode::environment);
}

}  // namespace
}  // namespace galvatron::measure
