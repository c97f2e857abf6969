#!/bin/bash
# How fast one GPU trains the benchmark decks, with its plan by hand: tokens/s, model TFLOP/s, utilisation, where the time went.
# Before that, where the kernels' test lies beside the program: attention by cuDNN beside the own kernel.
#
#   tests/gpu/bench.sh PROGRAM [INPUTS_FOLDER] [section.key=VALUE …]
#
# Model FLOPs are 6 · parameters in products · tokens + causal attention, forward and backward, without recomputation.
# Utilisation: against the product's peak that the program measured on this device just before, and against 989 TFLOP/s, the
# published dense bf16 peak of an H100 SXM and an H200. BENCH_DECKS chooses decks (default: all), BENCH_SECONDS (default
# 240) bounds each, BENCH_DEVICE is what run.device is set to (default cuda). Exit code: 0 all ran, 1 not.
set -uo pipefail
if [ $# -lt 1 ]; then
  sed -n '4p' "$0" >&2
  exit 2
fi
program=$1
shift
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
inputs=$here/../../inputs
if [ -f "$here/bundle_env.sh" ] && [ -d "$here/lib" ]; then
  inputs=$here/inputs
  . "$here/bundle_env.sh"
fi
if [ $# -gt 0 ] && [ -d "$1" ]; then
  inputs=$1
  shift
fi
published=989
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-4} OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_ess_singleton_isolated=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

settings_of() { # DECK: what fills one device with 141 GB
  case $1 in
    gpt2-124m) echo search.batch=64 plan.microbatches=2 ;;
    gpt2-1558m) echo search.batch=64 plan.microbatches=4 ;;
    llama-8b-slice) echo search.batch=8 plan.microbatches=8 plan.recompute=true ;;
  esac
}

failed=0
for test in "$(dirname "$program")"/bin/test_kernels_cuda_kernels "$(dirname "$program")"/tests/gpu/kernels/test_kernels_cuda_kernels; do
  if [ -x "$test" ]; then
    timeout -k 5 60 "$test" --gtest_filter='CudnnAttention.Speed*' | grep '^attention .* ms$\|no cuDNN'
  fi
done
printf '%-16s %12s %10s %14s %14s %12s\n' deck tokens/s TFLOP/s 'of gemm peak' "of $published" 'peak bytes'
for deck in ${BENCH_DECKS:-gpt2-124m gpt2-1558m llama-8b-slice}; do
  file=$(find "$inputs" -name "$deck.toml" | head -1)
  log=$folder/$deck.log
  # shellcheck disable=SC2046
  timeout -k 5 "${BENCH_SECONDS:-240}" "$program" run "$file" --out "$folder/$deck" run.device="${BENCH_DEVICE:-cuda}" run.trace=0 \
    data.format=synthetic train.precision=bf16 train.steps=12 train.warmup=2 train.eval_every=0 train.log_every=1 checkpoint.every=0 \
    profile.budget=20 plan.pp=1 $(settings_of "$deck") "$@" >"$log" 2>&1
  code=$?
  if [ $code -ne 0 ]; then
    failed=1
    echo "$deck: ended with $code"
    grep -v '^RESULT' "$log" | tail -3
    continue
  fi
  # "12345 tokens/s, 456.78 GFLOP/s per rank, 45.6 % of the measured gemm peak of 700.0 GFLOP/s"
  awk -v deck="$deck" -v published="$published" '
    / tokens\/s, .* GFLOP\/s per rank/ { tokens = $1; flops = $3; peak = /gemm peak of/ ? $(NF - 1) : 0 }
    /^RESULT/ { if (match($0, /peak_bytes=[0-9]+/)) bytes = substr($0, RSTART + 11, RLENGTH - 11) }
    END {
      printf "%-16s %12d %10.2f %13.1f%% %13.1f%% %12s\n", deck, tokens, flops / 1000, peak > 0 ? 100 * flops / peak : 0,
        100 * flops / 1000 / published, bytes
    }' "$log"
  sed -n '/^section (s)/,/^ *predicted/p' "$log" | grep -v 'predicted' | sed 's/^/    /'
  grep '^attention: ' "$log" | sed 's/^/    /'
  grep '^energy:.*devices' "$log" | sed 's/^/    /'
done
exit $failed
