#pragma once
// What a checkpoint holds of a session: the model's whole tensors by name, and which stretches of them this
// rank has or needs.

#include <vector>

#include "runtime/stage.hpp"
#include "spec/model.hpp"
#include "store/checkpoint.hpp"

namespace galvatron::runtime {

/// model/<tensor>, optimizer/<tensor>/exp_avg and …/exp_avg_sq for every parameter: the same list whatever
/// the plan. Of 16-bit precisions it is the fp32 masters that are kept: working weights are made from them
/// again (Session::restore).
std::vector<store::TensorInfo> tensors_of(const spec::ModelSpec& model, core::DType precision);

/// saving: this rank's slice of everything it replicates, so that all ranks together have each element once.
/// loading: all it holds.
enum class SnapshotUse { saving, loading };

std::vector<store::Piece> pieces_of(Stage& stage, const spec::ModelSpec& model,
                                    const std::vector<store::TensorInfo>& tensors, SnapshotUse use);

/// This rank's slice of the reduced gradients, as pieces of the model's tensors (optimizer tensors have
/// none).
std::vector<store::Piece> gradient_pieces_of(Stage& stage, const spec::ModelSpec& model,
                                             const std::vector<store::TensorInfo>& tensors);

}  // namespace galvatron::runtime
