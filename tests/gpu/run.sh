#!/bin/bash
# The GPU suite on one machine, from sources or from a bundle of pack.sh, with a table at the end.
#
#   tests/gpu/run.sh [BUILD_FOLDER]     builds the tests in BUILD_FOLDER (default build-gpu) for this machine's device, runs them
#   ./run.sh                            inside an unpacked bundle: runs what lies in bin/
#
# GPU_SUITE_BENCH=1 plays bench.sh afterwards, in what is left of the time. GPU_SUITE_SECONDS (default 420) bounds the runs of all tests together. Exit code: 0 all passed, 1 not, 77 nothing to run with.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
left=${GPU_SUITE_SECONDS:-420}

build_tests() { # SOURCE_FOLDER BUILD_FOLDER NVCC
  local capability
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d '. ')
  cmake -S "$1" -B "$2" -DCMAKE_BUILD_TYPE=Release -DGALVATRON_WITH_CUDA=ON -DCMAKE_CUDA_COMPILER="$3" \
    -DCMAKE_CUDA_ARCHITECTURES="${capability:-90}-real" || return
  cmake --build "$2" --parallel "$(nproc)" --target test_device_cuda_device test_comm_cuda_world test_kernels_cuda_kernels test_runtime_plans galvatron
}

if [ -d "$here/bin" ]; then
  binaries=$here/bin
  program=$here/galvatron
  logs=$here/logs
  # shellcheck source=bundle_env.sh
  . "$here/bundle_env.sh"
else
  source_folder=$(cd "$here/../.." && pwd)
  build=${1:-build-gpu}
  nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  if [ ! -x "$nvcc" ] || ! command -v cmake >/dev/null; then
    echo "no nvcc or no cmake here: make a bundle elsewhere with tests/gpu/pack.sh" >&2
    exit 77
  fi
  if ! build_tests "$source_folder" "$build" "$nvcc" >"$build.log" 2>&1; then
    tail -20 "$build.log"
    exit 1
  fi
  binaries=$build/tests/gpu
  program=$build/galvatron
  logs=$build/gpu-logs
fi
mkdir -p "$logs"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo "nvidia-smi: not here"

export OMP_NUM_THREADS=4 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
count() { # how many tests of a log end so
  grep -c "^\[ *$1 *\] .*(.* ms)\$" "$2"
}
failed=0
found=0
tests_of() { # from sources also the training parity suite, alone on the device
  find "$binaries" -type f -executable -name 'test_*' | sort
  if [ "$binaries" != "$here/bin" ]; then find "$build/tests/parity/runtime" -name test_runtime_plans; fi
}
export GALVATRON_TEST_DEVICE=cuda
printf '%-28s %8s %8s %8s %8s  %s\n' test passed failed skipped seconds end
while IFS= read -r binary; do
  found=1
  name=$(basename "$binary")
  log=$logs/$name.log
  begin=$SECONDS
  timeout -k 5 "$left" "$binary" >"$log" 2>&1
  code=$?
  spent=$((SECONDS - begin))
  left=$((left > spent ? left - spent : 1))
  end="ended with $code"
  if [ $code -eq 124 ]; then end="out of time"; fi
  if [ $code -ne 0 ]; then failed=1; fi
  printf '%-28s %8s %8s %8s %8s  %s\n' "${name#test_}" "$(count OK "$log")" "$(count FAILED "$log")" "$(count SKIPPED "$log")" \
    "$spent" "$end"
done < <(tests_of)
if [ $found -eq 0 ]; then
  echo "no tests in $binaries" >&2
  exit 77
fi
grep -h "^attention .* ms$" "$logs"/*.log
for log in "$logs"/*.log; do
  grep -h -m 5 -B 4 "^\[ *FAILED *\] .*(.* ms)\$" "$log" | cut -c1-200
  grep -h -m 1 "no CUDA device: \|error while loading" "$log"
done
if [ "${GPU_SUITE_BENCH:-0}" = 1 ] && [ -x "$program" ]; then
  BENCH_SECONDS=$((left / 3)) "$here/bench.sh" "$program" "$([ -d "$here/inputs" ] && echo "$here/inputs" || echo "$here/../../inputs")" || failed=1
fi
exit $failed
