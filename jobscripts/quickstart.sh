#!/bin/bash
# From a fresh clone to a trained model: installs what is missing, builds, and trains inputs/quickstart.toml on four
# ranks into the next free runs/quickstart-NNN. More words are handed to the program: section.key=VALUE, options.
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$ROOT"

jobscripts/setup.sh

say "building in $BUILD_DIR"
options=()
if [ ! -f "$BUILD_DIR/CMakeCache.txt" ]; then
  options=(-DGALVATRON_WITH_TESTS=OFF) # tests/run.sh switches them on
fi
configure "${options[@]}"
cmake --build "$BUILD_DIR" --target galvatron --parallel "$(cores)"

mkdir -p runs
for ((n = 1; n < 1000; ++n)); do
  out=runs/quickstart-$(printf %03d $n)
  mkdir "$out" 2>/dev/null && break
done
if ((n == 1000)); then
  echo "quickstart: no free run folder in $ROOT/runs, or it cannot be written" >&2
  exit 3
fi

ranks=${RANKS:-4}
say "running inputs/quickstart.toml on $ranks ranks into $out"
launch "$ranks" "$BUILD_DIR/galvatron" run inputs/quickstart.toml --out "$out" "$@"
