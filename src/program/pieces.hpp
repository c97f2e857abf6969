#pragma once
// Where the elements of a flat parameter buffer belong in the whole tensors: what initialisation and
// checkpoints walk.

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.hpp"

namespace galvatron::program {

/// `count` consecutive elements: at `local` in the group's flat buffer, at `global` (row-major) in the whole
/// tensor. And again `times` times in all, each so many strides further: rows of a tensor that is cut by
/// columns are one run, however many they are.
struct Run {
  int32_t parameter = 0;  ///< index in the group
  int64_t local = 0, global = 0, count = 0;
  int64_t times = 1;
  int64_t local_stride = 0, global_stride = 0;

  int64_t elements() const { return times * count; }
};

/// The whole tensor that a parameter of `layer` is a piece of: its own, or the one that it shares.
std::string tensor_name(const Parameter& parameter, const std::string& layer);

/// The runs of [begin, end) of a group's flat buffer, ascending; padding is left out. Three at most of each
/// parameter: where the range begins or ends inside a row, that row is a run of its own.
std::vector<Run> runs_of(const ParameterGroup& group, int64_t begin, int64_t end);

}  // namespace galvatron::program
