#pragma once
// Which step follows a product so closely that a device may make both in one pass over the result. Asked by
// the planner, which keeps their operands apart, and by whoever plays the steps: a Program says it all, so
// the two cannot differ. Prices and order of the steps do not change.

#include <cstddef>
#include <optional>
#include <vector>

#include "core/compute.hpp"
#include "program/program.hpp"

namespace galvatron::program {

/// What step `at` + 1 is to the product that step `at` of a phase makes; nothing when it is no such step, or
/// one that must be played apart:
///   gelu           the next step is gelu of the product, and the product is needed afterwards
///   gelu_backward  the next step takes the product as gradient, and nobody else does
///   column_sum     a sum with a transposed first factor, whose column sums the next step takes
std::optional<core::EpilogueKind> epilogue_at(const Program& program, const std::vector<Step>& steps,
                                              size_t at);

}  // namespace galvatron::program
