#pragma once
// The tests behind galvatron selftest, one file each. To add one: app/selftest_<name>.cpp, its declaration
// here and its row in selftest.cpp.

#include "app/context.hpp"
#include "core/errors.hpp"

namespace galvatron::app {

/// A tiny model is trained under every way to split it that these ranks have, and compared with one rank.
core::ExitCode selftest_parallel(Context& context);

}  // namespace galvatron::app
