#pragma once
// What the store's tests on several ranks share: a folder that all ranks know, tensors whose every byte
// follows from its place, and uneven ways to cut them over ranks.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "comm/world.hpp"
#include "core/random.hpp"
#include "device/device.hpp"
#include "store/checkpoint.hpp"
#include "store/sealed_file.hpp"

namespace galvatron::store::test {

/// A world and a fresh folder of its own, removed at the end.
class Job {
 public:
  Job() : device_(device::make_device(device::DeviceKind::cpu)), world_(comm::make_mpi_world(*device_)) {
    std::string name = (std::filesystem::temp_directory_path() / "galvatron-store-XXXXXX").string();
    if (world_->rank() == 0 && ::mkdtemp(name.data()) == nullptr) name.clear();
    folder_ = world_->broadcast(name, 0);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() {
    world_->barrier();
    std::error_code ignored;
    if (world_->rank() == 0) std::filesystem::remove_all(folder_, ignored);
  }

  comm::World& world() { return *world_; }
  const std::filesystem::path& folder() const { return folder_; }
  bool root() const { return world_->rank() == 0; }

 private:
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<comm::World> world_;
  std::filesystem::path folder_;
};

/// Several shapes and types; one tensor is empty, one a scalar, one longer than a block.
inline std::vector<TensorInfo> some_tensors() {
  return {{"model/embed.weight", {61, 24}, core::DType::f32},
          {"model/blocks.0.attention.q.weight", {17, 9}, core::DType::f32},
          {"model/empty", {0, 4}, core::DType::f32},
          {"model/half", {33}, core::DType::bf16},
          {"optimizer/embed.weight/exp_avg", {61, 24}, core::DType::f32},
          {"optimizer/embed.weight/exp_avg_sq", {61, 24}, core::DType::f64},
          {"optimizer/scale", {}, core::DType::i64},
          {"optimizer/long", {1300000}, core::DType::f32}};
}

/// All bytes of a tensor, from its number and a salt.
inline std::vector<std::byte> content(const std::vector<TensorInfo>& tensors, int64_t tensor, uint64_t salt) {
  const auto& info = tensors[static_cast<size_t>(tensor)];
  std::vector<std::byte> bytes(static_cast<size_t>(info.elements() * core::size_of(info.dtype)));
  std::mt19937_64 generator(salt * 1000 + static_cast<uint64_t>(tensor));
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    const uint64_t word = generator();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
  }
  return bytes;
}

/// Names the first element that is not what content() says.
inline void expect_content(const std::vector<TensorInfo>& tensors, const Piece& piece, uint64_t salt,
                           int rank) {
  const auto size = core::size_of(tensors[static_cast<size_t>(piece.tensor)].dtype);
  const auto bytes = content(tensors, piece.tensor, salt);
  const auto wanted = static_cast<size_t>(piece.count * size);
  if (std::memcmp(piece.data, bytes.data() + piece.offset * size, wanted) == 0) return;
  for (int64_t i = 0; i < piece.count * size; ++i) {
    const auto expected = bytes[static_cast<size_t>(piece.offset * size + i)];
    ASSERT_EQ(piece.data[i], expected)
        << "rank " << rank << ", " << tensors[static_cast<size_t>(piece.tensor)].name << ", element "
        << piece.offset + i / size;
  }
}

/// Pieces with the memory behind them.
struct Held {
  std::vector<Piece> pieces;
  std::vector<std::unique_ptr<std::byte[]>> memory;

  void add(const std::vector<TensorInfo>& tensors, int64_t tensor, int64_t offset, int64_t count) {
    const auto size = core::size_of(tensors[static_cast<size_t>(tensor)].dtype);
    memory.push_back(std::make_unique<std::byte[]>(static_cast<size_t>(count * size + 1)));
    pieces.push_back({tensor, offset, count, memory.back().get()});
  }
};

/// Cuts every tensor at random places and deals the parts to random ranks; every third rank gets nothing
/// where there are more than two. The same on every rank; returns this rank's share, filled from content().
inline Held random_share(comm::World& world, const std::vector<TensorInfo>& tensors, uint64_t seed,
                         uint64_t salt) {
  std::mt19937_64 generator(seed);
  Held held;
  for (size_t t = 0; t < tensors.size(); ++t) {
    const auto tensor = static_cast<int64_t>(t);
    const auto bytes = content(tensors, tensor, salt);
    const auto size = core::size_of(tensors[t].dtype);
    const auto elements = tensors[t].elements();
    for (int64_t at = 0; at < elements;) {
      const auto most = static_cast<uint64_t>(elements / 2 + 1);
      const auto count = std::min(elements - at, static_cast<int64_t>(generator() % most) + 1);
      auto owner = static_cast<int>(generator() % static_cast<uint64_t>(world.size()));
      if (world.size() > 2 && owner % 3 == 2) owner -= 1;
      if (owner == world.rank()) {
        held.add(tensors, tensor, at, count);
        std::memcpy(held.pieces.back().data, bytes.data() + at * size, static_cast<size_t>(count * size));
      }
      at += count;
    }
  }
  return held;
}

/// The block table, in the order of addresses.
inline std::vector<BlockRow> rows_in(const std::filesystem::path& path) {
  const auto sealed = open_sealed(path, SealedKind::checkpoint);
  SealedRows walk(sealed);
  std::vector<BlockRow> rows;
  while (const auto row = walk.next()) rows.push_back(*row);
  return rows;
}

/// Address and hash of every block.
inline std::vector<std::pair<int64_t, uint64_t>> blocks_of(const std::filesystem::path& path) {
  std::vector<std::pair<int64_t, uint64_t>> blocks;
  for (const auto& row : rows_in(path)) blocks.emplace_back(row.address, row.hash);
  return blocks;
}

inline CheckpointState some_state(int64_t step) {
  CheckpointState state;
  state.step = step;
  state.samples = step * 16;
  state.seed = 1234;
  state.run = "run-a";
  state.deck =
      "[train]\nsteps = 200\n# \xc3\xa4\n" + std::string(100'000, 'x');  // longer than an attribute may be
  state.plan = "version = 1\n";
  state.build = "test";
  state.model_fingerprint = "0123456789abcdef";
  state.more = {{"data", "text-1-2"}, {"nothing", ""}};
  return state;
}

}  // namespace galvatron::store::test
