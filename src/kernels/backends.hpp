#pragma once
// The makers of the three back ends, for the factory alone. Which file stands behind `make_cuda_kernels` is
// the build's choice.

#include <memory>

#include "kernels/kernels.hpp"

namespace galvatron::kernels {

struct Simd;

/// `simd`: the instruction-set level of the fp32 loops, one of available_simd().
std::unique_ptr<Kernels> make_cpu_kernels(int threads, const Simd& simd);
std::unique_ptr<Kernels> make_dry_kernels(int threads);
/// Throws core::UserError (environment) in a build without CUDA.
std::unique_ptr<Kernels> make_cuda_kernels(device::Device& device);

}  // namespace galvatron::kernels
