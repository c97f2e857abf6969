#!/bin/bash
# Compiles what only a build with CUDA has, without linking: compile.sh SOURCE_FOLDER BUILD_FOLDER NVCC [ARCHITECTURES].
# Without ARCHITECTURES: those that the build is for, or those that an earlier call chose.
set -euo pipefail
options=()
if [ ! -f "$2/CMakeCache.txt" ] && command -v ninja >/dev/null; then
  options=(-G Ninja)
fi
if [ $# -gt 3 ]; then
  options+=("-DCMAKE_CUDA_ARCHITECTURES=$4")
fi
cmake -S "$1" -B "$2" "${options[@]}" -DCMAKE_BUILD_TYPE=Release -DGALVATRON_WITH_CUDA=ON -DCMAKE_CUDA_COMPILER="$3"
cmake --build "$2" --target galvatron_cuda_objects --parallel 2
