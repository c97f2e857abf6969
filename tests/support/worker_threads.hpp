#pragma once
// Threads as workers, under the name that tests use.

#include "comm/worker_threads.hpp"

namespace galvatron::test {

using comm::on_workers;

}  // namespace galvatron::test
