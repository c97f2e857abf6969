// Shape and DType are plain values with checks.
#include "core/shape.hpp"

#include <gtest/gtest.h>

#include "core/dtype.hpp"
#include "core/errors.hpp"

namespace galvatron::core {
namespace {

TEST(Shape, CountsAndPrints) {
  const Shape shape = {2, 3, 4};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.elements(), 24);
  EXPECT_EQ(shape.dim(-1), 4);
  EXPECT_EQ(shape.to_string(), "[2, 3, 4]");
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape({5, 0}).elements(), 0);
  EXPECT_EQ(Shape().to_string(), "[]");
}

TEST(Shape, ComparesByRankAndDims) {
  EXPECT_EQ(Shape({2, 3}), Shape({2, 3}));
  EXPECT_NE(Shape({2, 3}), Shape({3, 2}));
  EXPECT_NE(Shape({2}), Shape({2, 0}));
  Shape changed = {2, 3};
  changed.set_dim(1, 7);
  EXPECT_EQ(changed, Shape({2, 7}));
}

TEST(Shape, RefusesWhatIsNotAShape) {
  EXPECT_THROW(Shape({1, 1, 1, 1, 1, 1, 1}), InternalError);
  EXPECT_THROW(Shape({-1}), InternalError);
  EXPECT_THROW((void)Shape({1, 2}).dim(2), InternalError);
  EXPECT_THROW((void)Shape({1, 2}).dim(-3), InternalError);
  EXPECT_THROW((void)Shape({int64_t{1} << 40, int64_t{1} << 40}).elements(), InternalError);
}

TEST(DType, HasSizesAndNames) {
  EXPECT_EQ(size_of(DType::f32), 4);
  EXPECT_EQ(size_of(DType::f64), 8);
  EXPECT_EQ(size_of(DType::bf16), 2);
  EXPECT_EQ(size_of(DType::u8), 1);
  EXPECT_EQ(name(DType::i64), "i64");
}

}  // namespace
}  // namespace galvatron::core
