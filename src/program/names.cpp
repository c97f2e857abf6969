// Names of steps and phases in reports, traces and errors.

#include <array>

#include "program/program.hpp"

namespace galvatron::program {

std::string_view name_of(StepKind kind) {
  static constexpr std::array<std::string_view, 19> names = {"gemm",
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
                                                             "optimizer"};
  return names[static_cast<size_t>(kind)];
}

std::string_view name_of(Phase phase) {
  static constexpr std::array<std::string_view, 6> names = {"forward",  "backward",      "sync",
                                                            "evaluate", "gradient_norm", "update"};
  return names[static_cast<size_t>(phase)];
}

}  // namespace galvatron::program
