// Names of steps and phases in reports, traces and errors.

#include <array>

#include "program/program.hpp"

namespace galvatron::program {

std::string_view name_of(StepKind kind) {
  static constexpr std::array<std::string_view, 21> names = {"gemm",
                                                             "norm",
                                                             "norm_backward",
                                                             "activation",
                                                             "activation_backward",
                                                             "attention",
                                                             "attention_backward",
                                                             "add",
                                                             "column_sum",
                                                             "embedding",
                                                             "embedding_backward",
                                                             "positions",
                                                             "positions_backward",
                                                             "cross_entropy",
                                                             "fill",
                                                             "copy",
                                                             "collective",
                                                             "sum_of_squares",
                                                             "optimizer",
                                                             "rope",
                                                             "wait"};
  return names[static_cast<size_t>(kind)];
}

std::string_view name_of(Phase phase) {
  static constexpr std::array<std::string_view, all_phases.size()> names = {
      "gather", "forward",  "forward_reduce", "backward_gather", "backward", "backward_reduce",
      "sync",   "evaluate", "gradient_norm",  "update",          "restore"};
  return names[static_cast<size_t>(phase)];
}

}  // namespace galvatron::program
