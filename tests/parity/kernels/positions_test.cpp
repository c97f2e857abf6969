// Positions of rows and the rotation by them, against the formulas written down a second time.

#include <algorithm>

#include "core/errors.hpp"
#include "parity/kernels/workbench.hpp"

namespace galvatron::kernels::test {
namespace {

/// Two samples, two pieces of three positions each, from coordinate 2 on in a block of halves of four: 2 3 4
/// | 5 6 7, where the halves start at positions 4 and 20.
constexpr RowPositions zigzag{2, 2, 3, 2, 4, 4, 20};
constexpr int64_t zigzag_positions[] = {6, 7, 20, 6, 7, 20, 21, 22, 23, 21, 22, 23};

TEST(Positions, RowsOfAZigzagBlockTakeTheirRowsOfTheTable) {
  Workbench w(DeviceKind::cpu, DType::f32, 1);
  const auto table = w.input(24, 5);
  const auto x = w.filled(DType::f32, 12, 5, 0.0);
  const auto counts = w.filled(DType::f32, 24, 5, 0.0);
  const auto ones = w.filled(DType::f32, 12, 5, 1.0);
  w.kernels().add_positions(w.stream(), x, table, zigzag, x);
  w.kernels().add_positions_backward(w.stream(), ones, zigzag, counts);
  for (int64_t r = 0; r < 12; ++r) {
    for (int64_t c = 0; c < 5; ++c)
      EXPECT_EQ(Workbench::get(x, r, c), Workbench::get(table, zigzag_positions[r], c)) << "row " << r;
  }
  for (int64_t p = 0; p < 24; ++p) {
    const auto expected = std::count(std::begin(zigzag_positions), std::end(zigzag_positions), p);
    EXPECT_EQ(Workbench::get(counts, p, 3), static_cast<double>(expected)) << "position " << p;
  }
}

TEST(Positions, OutsideOfTheTableAreRefused) {
  for (const auto kind : {DeviceKind::cpu, DeviceKind::dry}) {
    Workbench w(kind, DType::f32, 1);
    const auto x = w.input(12, 5);
    EXPECT_THROW(w.kernels().add_positions(w.stream(), x, w.input(23, 5), zigzag, x), core::InternalError);
    EXPECT_THROW(w.kernels().add_positions_backward(w.stream(), x, zigzag, w.input(23, 5)),
                 core::InternalError);
    auto fewer = zigzag;
    fewer.samples = 1;
    EXPECT_THROW(w.kernels().add_positions(w.stream(), x, w.input(24, 5), fewer, x), core::InternalError);
  }
}

class Rope : public testing::TestWithParam<DType> {};

TEST_P(Rope, TurnsEachPairByItsAngle) {
  Workbench w(DeviceKind::cpu, GetParam(), 2, GetParam() == DType::f64 ? DType::f32 : GetParam());
  RopeArgs args;
  args.x = w.input(12, 2 * 6 + 3);
  args.y = w.output(12, 2 * 6 + 3);
  args.positions = zigzag;
  args.heads = 2;
  args.head_dim = 6;
  args.base = 100.0;
  w.kernels().rope(w.stream(), args);
  const auto bound = GetParam() == DType::bf16  ? 0x1p-7
                     : GetParam() == DType::f16 ? 0x1p-10
                     : GetParam() == DType::f32 ? 1e-6
                                                : 1e-14;
  for (int64_t r = 0; r < 12; ++r) {
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t i = 0; i < 3; ++i) {
        const auto angle =
            static_cast<double>(zigzag_positions[r]) * std::pow(100.0, -static_cast<double>(i) / 3.0);
        const auto a = Workbench::get(args.x, r, 6 * h + i);
        const auto b = Workbench::get(args.x, r, 6 * h + i + 3);
        ASSERT_NEAR(Workbench::get(args.y, r, 6 * h + i), a * std::cos(angle) - b * std::sin(angle), bound)
            << "row " << r << ", head " << h << ", pair " << i;
        ASSERT_NEAR(Workbench::get(args.y, r, 6 * h + i + 3), a * std::sin(angle) + b * std::cos(angle),
                    bound)
            << "row " << r << ", head " << h << ", pair " << i;
      }
    }
    for (int64_t c = 12; c < 15; ++c) EXPECT_EQ(Workbench::get(args.y, r, c), Workbench::get(args.x, r, c));
  }
}

/// What the rotation is for: the product of a turned query and a turned key depends on their distance alone.
TEST(Rotation, LeavesProductsOfEqualDistance) {
  Workbench w(DeviceKind::cpu, DType::f64, 1);
  const auto q = w.input(1, 8);
  const auto k = w.input(1, 8);
  const auto product = [&](int64_t at_q, int64_t at_k) {
    const auto turned = [&](const TensorView& x, int64_t position) {
      RopeArgs args;
      args.x = x;
      args.y = w.output(1, 8);
      args.positions = {1, 1, 1, 0, 1, position, 0};
      args.heads = 1;
      args.head_dim = 8;
      w.kernels().rope(w.stream(), args);
      return w.values(args.y);
    };
    const auto left = turned(q, at_q);
    const auto right = turned(k, at_k);
    double sum = 0;
    for (size_t i = 0; i < 8; ++i) sum += left[i] * right[i];
    return sum;
  };
  EXPECT_NEAR(product(5, 2), product(1003, 1000), 1e-12);
  EXPECT_GT(std::abs(product(5, 2) - product(6, 2)), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(DTypes, Rope, testing::Values(DType::f32, DType::f64, DType::bf16, DType::f16),
                         [](const auto& info) { return std::string(core::name(info.param)); });

}  // namespace
}  // namespace galvatron::kernels::test
