#pragma once
// Attention as cuDNN's flash patterns: the graph of a call, built from what the call looks like. The library
// turns it into one kernel (a few for the backward).

#include "kernels/cuda/cudnn_graph.hpp"
#include "kernels/cuda/fused_attention.hpp"

namespace galvatron::kernels::cuda::cudnn {

/// The graph of one portion of a call, and the names of its tensors. `lowest` is what masked scores become.
struct ForwardGraph {
  Graph graph;
  TensorId q = 0, k = 0, v = 0, scale = 0, lowest = 0, out = 0, lse = 0;
  ForwardGraph(const Functions& functions, const FusedAttentionKey& key);
};

/// row_sums: fp32, samples × heads × positions, what the program calls delta. `one` is 1: the pattern scales
/// them, for dropout.
struct BackwardGraph {
  Graph graph;
  TensorId q = 0, k = 0, v = 0, out = 0, lse = 0, dout = 0, scale = 0, lowest = 0, one = 0;
  TensorId row_sums = 0, dq = 0, dk = 0, dv = 0;
  BackwardGraph(const Functions& functions, const FusedAttentionKey& key);
};

}  // namespace galvatron::kernels::cuda::cudnn
