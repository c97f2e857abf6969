#pragma once
// The tests behind galvatron selftest, one file each. To add one: app/selftest_<name>.cpp, its declaration
// here and its row in selftest.cpp.

#include "app/context.hpp"
#include "core/errors.hpp"

namespace galvatron::app {

/// A tiny model is trained under every way to split it that these ranks have, and compared with one rank.
core::ExitCode selftest_parallel(Context& context);

/// A tiny model is trained, left and taken up again in a folder under --out (default: here): bit for bit
/// under the same plan, from the file before a damaged one, and within rounding under other plans.
core::ExitCode selftest_restart(Context& context);

}  // namespace galvatron::app
