#pragma once
// A whole job, rank after rank, on one core without memory, messages or arithmetic: does every send meet its
// receive, do all ranks call the same collectives, and how much memory does each reach? The same Session
// plays as in training; only device, kernels and world are dry.

#include <cstdint>
#include <vector>

#include "core/dtype.hpp"
#include "plan/plan.hpp"
#include "spec/model.hpp"

namespace galvatron::runtime {

struct Rehearsal {
  struct Rank {
    int64_t planned_bytes = 0;     ///< the arena
    int64_t high_water_bytes = 0;  ///< what a training step and an evaluation reach of it
    int64_t device_bytes = 0;      ///< the most that the device was asked for
    int64_t calls = 0;             ///< messages and collectives with other ranks
  };
  std::vector<Rank> ranks;  ///< of the plan's world

  int64_t peak_bytes() const;  ///< of the fullest rank
};

/// One training step and one evaluation of every rank of the plan, with `threads` threads a rank. The plan
/// must be free of faults. Throws core::InternalError naming group, ranks and calls where two ranks do not
/// fit, or the kernel whose operands do not.
Rehearsal rehearse(const plan::Plan& plan, const spec::ModelSpec& model, core::DType dtype, int threads);

}  // namespace galvatron::runtime
