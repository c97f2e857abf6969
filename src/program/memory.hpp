#pragma once
// The memory planner: every value gets its region and its fixed offset before the first step is played.

#include "program/program.hpp"

namespace galvatron::program {

/// Every buffer starts at a multiple of this many bytes.
inline constexpr int64_t memory_alignment = 64;

int64_t aligned(int64_t bytes);

/// Fills in offsets, placements and `memory`. Saved values lie one after the other; work values share space
/// when their lifetimes (first to last step that touches them, within a phase) do not meet. A product and its
/// epilogue count as one step.
void plan_memory(Program& program);

}  // namespace galvatron::program
