#!/usr/bin/env bash
# Runs benchmarks by name (all that this script knows, without a name); each ends with a line "RESULT bench=NAME …",
# accuracy and gain with one per item.
# They belong to one machine and are no tests. BUILD_DIR: the build folder (default build).
#
#   tests/bench/run.sh [train_step|profile|search|search_reference|checkpoint|accuracy|gain …]
#
# PYTORCH: a python that has torch, for the comparison of train_step (tests/support/pytorch_venv.sh makes one).
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD_DIR:-build}
pytorch=${PYTORCH:-}
if [ -z "$pytorch" ] && [ -x "$build/pytorch/bin/python" ]; then pytorch=$build/pytorch/bin/python; fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
[ $# -gt 0 ] || set -- train_step profile search checkpoint accuracy gain
for name in "$@"; do
  case $name in
    train_step) python3 tests/bench/train_step/train_step.py "$build" ${pytorch:+--pytorch "$pytorch"} ;;
    profile) mpirun -n 4 --bind-to none "$build/tests/bench/profile/bench_measure_profile" ;;
    search) "$build/tests/bench/search/bench_search_speed" ;;
    search_reference) "$build/tests/bench/search/bench_search_reference" ;;
    checkpoint)
      # GPT-2 small on two ranks, 1.5 GB of state; batch and context are small, so that steps are short.
      mpirun -n 2 --bind-to none "$build/tests/bench/checkpoint/bench_runtime_checkpoint" "$build/tests/bench/checkpoint/files" \
        "${ROUNDS:-5}" "${STEPS:-10}" inputs/gpt/gpt2-124m.toml plan.zero=1 plan.microbatches=1 model.seq=256 "search.batch=[4]" ;;
    accuracy) python3 tests/bench/accuracy/accuracy.py "$build" ;;
    gain) python3 tests/bench/gain/gain.py "$build" ;;
    *) echo "no benchmark '$name'; there are train_step, profile, search, search_reference, checkpoint, accuracy and gain" >&2
      exit 2 ;;
  esac
done
