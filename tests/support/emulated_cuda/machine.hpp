#pragma once
// Runs a CUDA kernel on the host, block by block. The threads of a block are fibers that run until they wait
// for each other; they start in an order that a test chooses, so that a kernel whose result depends on it is
// found out. Waiting that cannot end is an exception.

#include <array>
#include <cstdint>
#include <functional>

#include "support/emulated_cuda/cuda_runtime_api.h"

namespace emulated_cuda {

/// What a kernel asks about itself.
struct Here {
  dim3 thread, block, threads, blocks;
};
inline thread_local Here here;

/// What the largest of the supported devices with the least gives one block (compute capability 8.0).
constexpr int most_shared_bytes = 163 << 10;

using Word = std::array<unsigned char, 8>;

enum class ThreadOrder { ascending, descending, odd_first };

/// For all kernels run from now on.
void set_thread_order(ThreadOrder order);

int lane();
void meet_block();
void meet_warp();
bool any_of_block(bool predicate);
unsigned votes_of_warp(bool predicate);
/// Every lane gives `word` and gets that of another.
Word word_of_lane(const Word& word, int lane);

/// Shows `mine` to the lanes of the warp, and calls `look` when all have: there registers_of gives those of
/// any.
using Registers = std::array<unsigned, 6>;
void show_registers(const Registers& mine, const std::function<void()>& look);
const Registers& registers_of(int lane);

/// Plays `thread` for every thread of every block. Shared memory that was asked for holds NaN at first.
void run(dim3 blocks, dim3 threads, size_t shared_bytes, const std::function<void()>& thread);

}  // namespace emulated_cuda
