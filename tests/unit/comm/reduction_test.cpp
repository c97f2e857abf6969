// Sums in member order, also when the result lies on one of the parts.
#include "comm/reduction.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace galvatron::comm {
namespace {

std::vector<std::vector<float>> rough_parts(size_t parts, size_t count) {
  std::vector<std::vector<float>> all(parts, std::vector<float>(count));
  for (size_t p = 0; p < parts; ++p)
    for (size_t i = 0; i < count; ++i)
      all[p][i] = (p % 2 ? -1e7f : 1e7f) + static_cast<float>(p * 3 + i % 13) / 7.0f;
  return all;
}

TEST(ReduceInOrder, HasTheBitsOfAPlainLoopWhereverTheResultLies) {
  for (const size_t parts : {1, 2, 3, 5}) {
    for (const size_t count : {1, 1023, 1024, 1025, 5000}) {
      for (size_t onto = 0; onto <= parts; ++onto) {
        auto data = rough_parts(parts, count);
        auto expected = data[0];
        for (size_t p = 1; p < parts; ++p)
          for (size_t i = 0; i < count; ++i) expected[i] += data[p][i];
        std::vector<float> apart(count);
        std::vector<const std::byte*> pointers;
        for (auto& part : data) pointers.push_back(reinterpret_cast<const std::byte*>(part.data()));
        auto& out = onto < parts ? data[onto] : apart;
        reduce_in_order(pointers, reinterpret_cast<std::byte*>(out.data()), static_cast<int64_t>(count),
                        core::DType::f32, ReduceOp::sum);
        EXPECT_EQ(out, expected) << parts << " parts of " << count << ", result on " << onto;
      }
    }
  }
}

}  // namespace
}  // namespace galvatron::comm
