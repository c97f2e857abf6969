// Pieces of many rows: the blocks are byte for byte those of the rows one by one, whichever way it is
// written, and come back into pieces of any kind.
#include <gtest/gtest.h>

#include <fstream>

#include "core/format.hpp"
#include "mpi/store/support.hpp"
#include "store/checkpoint.hpp"
#include "store/sealed_file.hpp"

namespace galvatron::store {
namespace {

using test::content;
using test::expect_content;
using test::Held;
using test::Job;
using test::some_state;

/// Columns of matrices, uneven over the ranks, as pieces of many rows that lie apart in memory; more rows
/// than a window of the block table has.
Held columns_of(Job& job, const std::vector<TensorInfo>& tensors, uint64_t salt) {
  Held held;
  const int64_t ranks = job.world().size(), rank = job.world().rank();
  for (size_t t = 0; t < tensors.size(); ++t) {
    const auto tensor = static_cast<int64_t>(t);
    const auto rows = tensors[t].shape[0], cols = tensors[t].shape[1];
    const auto begin = cols * rank * rank / (ranks * ranks),
               end = cols * (rank + 1) * (rank + 1) / (ranks * ranks);
    const auto size = core::size_of(tensors[t].dtype);
    held.add(tensors, tensor, begin, rows * (end - begin + 3));
    auto& piece = held.pieces.back();
    piece.count = end - begin;
    piece.times = rows;
    piece.stride = cols;
    piece.data_stride = (end - begin + 3) * size;
    const auto bytes = content(tensors, tensor, salt);
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(piece.stretch(row).data, bytes.data() + (row * cols + begin) * size,
                  static_cast<size_t>(piece.count * size));
  }
  return held;
}

/// All blocks, each behind its place in the file. What HDF5 writes between them knows the time.
std::string blocks_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  for (const auto& row : test::rows_in(path)) {
    std::string bytes(static_cast<size_t>(row.bytes), ' ');
    file.seekg(row.address).read(bytes.data(), row.bytes);
    text += core::format("{} {} {}:", row.address, row.bytes, row.writer) + bytes;
  }
  return text;
}

TEST(Pieces, OfManyRowsGiveTheBlocksOfTheRowsOneByOne) {
  Job job;
  const std::vector<TensorInfo> tensors = {{"model/down.weight", {window_rows + 100, 11}, core::DType::f32},
                                           {"model/out.weight", {5, 40}, core::DType::f64}};
  const auto held = columns_of(job, tensors, 3);
  std::vector<Piece> rows;
  for (const auto& piece : held.pieces)
    for (int64_t row = 0; row < piece.times; ++row) rows.push_back(piece.stretch(row));
  const auto expected = job.folder() / "rows.h5";
  ASSERT_EQ(save_checkpoint(job.world(), expected, some_state(1), tensors, rows, {}).outcome,
            SaveOutcome::saved);
  using enum CheckpointIo;
  for (const auto io : {aggregate, independent, collective}) {
    const auto path = job.folder() / (std::string(name_of(io)) + ".h5");
    CheckpointOptions options;
    options.io = io;
    const auto report = save_checkpoint(job.world(), path, some_state(1), tensors, held.pieces, options);
    ASSERT_EQ(report.outcome, SaveOutcome::saved) << name_of(io) << ": " << report.problem;
    EXPECT_EQ(report.remark, "") << name_of(io);
    EXPECT_TRUE(blocks_of_file(path) == blocks_of_file(expected)) << name_of(io) << " wrote other bytes";
  }
  verify_checkpoint(expected);
  // The block table is as short as the pieces, however many rows it has.
  EXPECT_LE(open_sealed(expected, SealedKind::checkpoint).runs.size(),
            tensors.size() * static_cast<size_t>(job.world().size()));

  auto wanted = columns_of(job, tensors, 4);  // other values, to be overwritten
  load_checkpoint(job.world(), expected, tensors, wanted.pieces);
  for (const auto& piece : wanted.pieces)
    for (int64_t row = 0; row < piece.times; ++row)
      expect_content(tensors, piece.stretch(row), 3, job.world().rank());
  Held whole;
  for (size_t t = 0; t < tensors.size(); ++t)
    whole.add(tensors, static_cast<int64_t>(t), 0, tensors[t].elements());
  load_checkpoint(job.world(), expected, tensors, whole.pieces);
  for (const auto& piece : whole.pieces) expect_content(tensors, piece, 3, job.world().rank());
}

}  // namespace
}  // namespace galvatron::store
