#pragma once
// Whether somebody watches: bars and colours are for terminals, and only where they are wanted.

#include "app/console.hpp"

namespace galvatron::app {

/// What the terminal of this process can do. Open MPI gives rank 0 a terminal of its own to write to,
/// whatever mpirun's output is, so there mpirun is looked at. NO_COLOR and TERM=dumb are honoured.
Terminal terminal_of_this_process();

}  // namespace galvatron::app
