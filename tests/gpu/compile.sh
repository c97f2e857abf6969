#!/bin/bash
# Compiles what only a build with CUDA has, without linking: compile.sh SOURCE_FOLDER BUILD_FOLDER NVCC.
set -euo pipefail
generator=()
if [ ! -f "$2/CMakeCache.txt" ] && command -v ninja >/dev/null; then
  generator=(-G Ninja)
fi
cmake -S "$1" -B "$2" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DGALVATRON_WITH_CUDA=ON -DCMAKE_CUDA_COMPILER="$3"
cmake --build "$2" --target galvatron_cuda_objects --parallel 2
