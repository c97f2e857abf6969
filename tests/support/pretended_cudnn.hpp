#pragma once
// Functions that behave as cuDNN's graph interface does, for what the program asks of it: they keep what
// descriptors are told and play an operation graph on the host by the definitions of its operations. Whoever
// builds a graph wrongly gets wrong numbers, or a refusal.

#include <cstdint>
#include <vector>

#include "kernels/cuda/cudnn.hpp"

namespace galvatron::test {

/// How the pretended library behaves from now on.
struct PretendedCudnn {
  /// Bytes that the n-th plan of every graph wants, and overwrites; −1: it cannot be finalized.
  std::vector<int64_t> workspaces = {0};
  bool takes_device = true;
  int64_t alive = 0;     ///< descriptors and handles
  int64_t executed = 0;  ///< plans
};

/// The one behind the functions, which are C functions and can be told nothing else.
PretendedCudnn& pretended_cudnn();
kernels::cuda::cudnn::Functions pretended_cudnn_functions();

}  // namespace galvatron::test
