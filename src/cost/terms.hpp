#pragma once
// The parts into which every prediction is cut. A price is never a bare total.

#include <cstdint>
#include <span>
#include <string_view>

#include "plan/lowering.hpp"
#include "program/program.hpp"

namespace galvatron::cost {

/// How often per training step a term counts.
enum class Frequency : uint8_t { per_micro, per_step };

struct TimeTerm {
  std::string_view name;
  std::string_view meaning;
  Frequency frequency;
  bool (*holds)(program::Phase phase, const program::Step& step);
};

/// Every step of forward, backward, sync, gradient_norm and update belongs to the first term that holds it.
std::span<const TimeTerm> time_terms();
inline constexpr size_t time_term_count = 19;
/// Rows that hold no step: what compute takes longer because something is moved beside it.
inline constexpr size_t forward_contention = 15, backward_contention = 16;
/// Likewise: training data, and what all ranks tell each other before the update.
inline constexpr size_t data_wait = 17, agreement = 18;
/// Index of the step's term in the table.
size_t time_term_of(program::Phase phase, const program::Step& step);

/// Bytes that a process needs while a checkpoint is written or read back, for each piece of the model's state
/// on all ranks (rows of a tensor that repeat are one piece), for each of its own, and for the part of the
/// block table that is at hand (see store: slabs, runs of the block table, windows of its rows).
inline constexpr int64_t saving_bytes_per_piece = 160, saving_bytes_per_own_piece = 56,
                         saving_window_bytes = 458752;

/// What a stage's memory is made of.
struct StageMemory {
  program::MemoryNeed sum;  ///< over the stage's layers
  plan::ArenaLayout arena;
  int64_t reserve_bytes = 0;
  int64_t group_bytes = 0;
  int64_t copy_bytes = 0;    ///< that checkpoints are written from, behind the steps
  int64_t saving_bytes = 0;  ///< what the writing of checkpoints itself needs

  int64_t total() const { return arena.total() + reserve_bytes + group_bytes + copy_bytes + saving_bytes; }
};

struct MemoryTerm {
  std::string_view name;
  std::string_view meaning;
  int64_t (*bytes)(const StageMemory& memory);
};

/// Add up to StageMemory::total().
std::span<const MemoryTerm> memory_terms();

}  // namespace galvatron::cost
