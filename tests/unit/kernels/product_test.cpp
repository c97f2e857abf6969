// Which products of cuBLASLt the calls become: pure decisions, so no device is asked.
#include "kernels/cuda/product.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace galvatron::kernels::cuda {
namespace {

using core::DType;
using core::EpilogueKind;

/// Addresses that belong to nobody, each view behind the one before.
class Places {
 public:
  TensorView matrix(DType dtype, int64_t rows, int64_t cols, int64_t gap = 0) {
    TensorView view{at_, dtype, rows, cols, cols + gap};
    at_ += (rows * view.row_stride * core::size_of(dtype) + 63) / 64 * 64;
    return view;
  }

 private:
  std::byte* at_ = reinterpret_cast<std::byte*>(uintptr_t{1} << 20);
};

/// A layer's widening product in bf16: 32 tokens, 24 to 96 features.
struct Widening {
  Places places;
  GemmArgs args;
  Epilogue epilogue;

  explicit Widening(EpilogueKind kind, int64_t gap = 0) {
    args.a = places.matrix(DType::bf16, 32, 24);
    args.b = places.matrix(DType::bf16, 96, 24);
    args.c = places.matrix(DType::bf16, 32, 96, gap);
    args.transpose_b = Transpose::yes;
    args.workspace = places.matrix(DType::u8, 1, 1 << 16);
    epilogue.kind = kind;
    if (kind == EpilogueKind::gelu) args.bias = places.matrix(DType::bf16, 1, 96);
    if (kind == EpilogueKind::gelu_backward) epilogue.x = places.matrix(DType::bf16, 32, 96, gap);
    epilogue.out = places.matrix(DType::bf16, 32, 96, gap);
  }
};

/// The gradients of its weight and bias.
struct WeightGradient {
  Places places;
  GemmArgs args;
  Epilogue epilogue;

  WeightGradient() {
    args.a = places.matrix(DType::bf16, 32, 96);
    args.b = places.matrix(DType::bf16, 32, 24);
    args.c = places.matrix(DType::f32, 96, 24);
    args.transpose_a = Transpose::yes;
    args.write = Write::accumulate;
    args.workspace = places.matrix(DType::u8, 1, 1 << 16);
    epilogue = {{}, places.matrix(DType::f32, 1, 96), EpilogueKind::column_sum};
  }
};

TEST(Product, OfAPlainCall) {
  Widening w(EpilogueKind::gelu);
  const auto biased = product_of(w.args);
  EXPECT_EQ(biased.key.epilogue, ProductEpilogue::bias);
  EXPECT_EQ(biased.vector.data, w.args.bias.data);
  EXPECT_EQ(text_of(biased.key),
            "nt bf16>bf16 32x96x24 strides 24 24 96 0 overwrite bias aligned 64 64 64 0 64");
  w.args.bias = {};
  EXPECT_EQ(product_of(w.args).key.epilogue, ProductEpilogue::none);
}

TEST(Product, GeluKeepsWhatItWasTakenOf) {
  const Widening w(EpilogueKind::gelu);
  const auto product = product_of(w.args, w.epilogue);
  ASSERT_TRUE(product);
  EXPECT_EQ(product->key.epilogue, ProductEpilogue::bias_gelu);
  EXPECT_EQ(product->out.data, w.epilogue.out.data);
  EXPECT_EQ(product->aside.data, w.args.c.data);
  EXPECT_EQ(product->vector.data, w.args.bias.data);
  auto plain = w;
  plain.args.bias = {};
  EXPECT_EQ(product_of(plain.args, plain.epilogue)->key.epilogue, ProductEpilogue::gelu);
}

TEST(Product, GeluBackwardReadsWhatItWasTakenOf) {
  const Widening w(EpilogueKind::gelu_backward);
  const auto product = product_of(w.args, w.epilogue);
  ASSERT_TRUE(product);
  EXPECT_EQ(product->key.epilogue, ProductEpilogue::gelu_backward);
  EXPECT_EQ(product->out.data, w.epilogue.out.data);
  EXPECT_EQ(product->aside.data, w.epilogue.x.data);
  EXPECT_FALSE(product->vector.present());
  auto in_place = w;
  in_place.epilogue.out = in_place.args.c;
  EXPECT_TRUE(product_of(in_place.args, in_place.epilogue)) << "the product itself is never written";
}

TEST(Product, ColumnSumsAreMadeBesideASum) {
  const WeightGradient w;
  const auto product = product_of(w.args, w.epilogue);
  ASSERT_TRUE(product);
  EXPECT_EQ(product->key.epilogue, ProductEpilogue::column_sum);
  EXPECT_EQ(product->out.data, w.args.c.data);
  EXPECT_EQ(product->vector.data, w.epilogue.out.data);
  auto straight = w;
  straight.args.transpose_a = Transpose::no;
  EXPECT_FALSE(product_of(straight.args, straight.epilogue)) << "these are the library's sums over k only";
  auto rounded = w;
  rounded.epilogue.out.dtype = DType::bf16;
  EXPECT_FALSE(product_of(rounded.args, rounded.epilogue));
}

TEST(Product, RowsOfTheOtherMatrixMustSuitTheLibrary) {
  EXPECT_TRUE(product_of(Widening(EpilogueKind::gelu, 8).args, Widening(EpilogueKind::gelu, 8).epilogue));
  for (const auto kind : {EpilogueKind::gelu, EpilogueKind::gelu_backward}) {
    const Widening odd(kind, 4);
    EXPECT_FALSE(product_of(odd.args, odd.epilogue)) << "100 elements a row are no multiple of 8";
    Widening shifted(kind);
    auto& aside = kind == EpilogueKind::gelu ? shifted.args.c : shifted.epilogue.x;
    aside.data += 8;
    EXPECT_FALSE(product_of(shifted.args, shifted.epilogue)) << "8 bytes beside a multiple of 16";
  }
}

TEST(Product, GeluTakesABiasOfTheResultsTypeOnly) {
  Widening w(EpilogueKind::gelu);
  w.args.c.dtype = DType::f32;
  EXPECT_FALSE(product_of(w.args, w.epilogue));
}

TEST(Product, WhatIsWrittenLiesApart) {
  const Widening good(EpilogueKind::gelu);
  const auto end_of_a = good.args.a.data + good.args.a.bytes();
  for (const auto* in_the_way : {end_of_a - 64, good.args.b.data, good.args.bias.data, good.args.c.data,
                                 good.args.workspace.data + 128}) {
    auto bad = good;
    bad.epilogue.out.data = const_cast<std::byte*>(in_the_way);
    EXPECT_FALSE(product_of(bad.args, bad.epilogue)) << in_the_way - good.args.a.data;
  }
  WeightGradient sums;
  sums.epilogue.out.data = sums.args.c.data + 64;
  EXPECT_FALSE(product_of(sums.args, sums.epilogue));
}

TEST(Product, KeysDifferWhereAnAlgorithmMay) {
  const Widening w(EpilogueKind::gelu);
  std::set<std::string> texts = {text_of(product_of(w.args).key),
                                 text_of(product_of(w.args, w.epilogue)->key)};
  const auto expect_new = [&](const GemmArgs& args) {
    EXPECT_TRUE(texts.insert(text_of(product_of(args).key)).second) << text_of(product_of(args).key);
  };
  for (const auto view : {&GemmArgs::a, &GemmArgs::b, &GemmArgs::c}) {
    auto other = w.args;
    (other.*view).row_stride += 8;
    expect_new(other);
    other = w.args;
    (other.*view).data += 32;
    expect_new(other);
  }
  auto other = w.args;
  other.bias.data += 2;
  expect_new(other);
  other = w.args;
  other.c.dtype = DType::f32;
  expect_new(other);
  other = w.args;
  other.write = Write::accumulate;
  expect_new(other);
  auto elsewhere = w.args;
  elsewhere.a.data += 4096;
  EXPECT_EQ(text_of(product_of(elsewhere).key), text_of(product_of(w.args).key)) << "the place says nothing";
}

TEST(Product, WorkspaceFollowsTheResult) {
  ProductKey key;
  key.k = 8;
  EXPECT_EQ(product_workspace_bytes(key), 0);
  key.m = key.n = 4;
  EXPECT_EQ(product_workspace_bytes(key), 64 << 10);
  key.m = key.n = 64;
  EXPECT_EQ(product_workspace_bytes(key), 16 * 64 * 64 * 4);
  key.m = key.n = 1 << 14;
  EXPECT_EQ(product_workspace_bytes(key), 32 << 20);
  key.k = 0;
  EXPECT_EQ(product_workspace_bytes(key), 0);
}

}  // namespace
}  // namespace galvatron::kernels::cuda
