#pragma once
// Where the elements of a flat parameter buffer belong in the whole tensors: what initialisation and
// checkpoints walk.

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.hpp"

namespace galvatron::program {

/// `count` consecutive elements: at `local` in the group's flat buffer, at `global` (row-major) in the whole
/// tensor.
struct Run {
  int32_t parameter = 0;  ///< index in the group
  int64_t local = 0, global = 0, count = 0;
};

/// The whole tensor that a parameter of `layer` is a piece of: its own, or the one that it shares.
std::string tensor_name(const Parameter& parameter, const std::string& layer);

/// The runs of [begin, end) of a group's flat buffer, ascending; padding is left out.
std::vector<Run> runs_of(const ParameterGroup& group, int64_t begin, int64_t end);
/// How many they are.
int64_t count_runs(const ParameterGroup& group, int64_t begin, int64_t end);

}  // namespace galvatron::program
