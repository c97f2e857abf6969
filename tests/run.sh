#!/bin/bash
# Installs what is missing, builds, and runs the tests; with --full also those labelled `slow`. Nothing needs to be
# set beforehand. The last lines are CTest's; its exit code is this script's. Further words go to ctest.
set -euo pipefail
. "$(dirname "$0")/../jobscripts/common.sh"
cd "$ROOT"

which_tests=(-LE slow)
if [ "${1:-}" = --full ]; then
  which_tests=()
  shift
fi

jobscripts/setup.sh --tests
say "building in $BUILD_DIR"
configure -DGALVATRON_WITH_TESTS=ON
cmake --build "$BUILD_DIR" --parallel "$(cores)"
say "testing"
exec ctest --test-dir "$BUILD_DIR" --parallel "$(cores)" --output-on-failure "${which_tests[@]}" "$@"
