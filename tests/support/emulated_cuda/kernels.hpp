#pragma once
// The kernels for CUDA on the host: the same sources, run by machine.hpp.

#include <memory>

#include "kernels/kernels.hpp"

namespace galvatron::test {

std::unique_ptr<kernels::Kernels> make_emulated_kernels();

}  // namespace galvatron::test
