# shellcheck shell=bash
# What the scripts of this folder share; sourced, never run. Needs bash.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD_DIR=${BUILD_DIR:-build}
case $BUILD_DIR in
  /*) ;;
  *) BUILD_DIR=$ROOT/$BUILD_DIR ;;
esac

say() {
  printf '== %s\n' "$*"
}

# Cores that this process may use.
cores() {
  nproc
}

# configure [cmake options]: keeps what an existing build folder was configured with.
configure() {
  local generator=()
  if [ ! -f "$BUILD_DIR/CMakeCache.txt" ] && command -v ninja >/dev/null; then
    generator=(-G Ninja)
  fi
  cmake -S "$ROOT" -B "$BUILD_DIR" "${generator[@]}" -DGALVATRON_MARCH="${GALVATRON_MARCH-native}" "$@" >"$BUILD_DIR.log" 2>&1 || {
    cat "$BUILD_DIR.log"
    return 1
  }
  rm -f "$BUILD_DIR.log"
}

# launch RANKS command…: mpirun with options that Open MPI 4 and 5 share, as root too and with more ranks than cores.
launch() {
  local ranks=$1 options=(--oversubscribe --bind-to none)
  shift
  if [ "$(id -u)" -eq 0 ]; then
    options+=(--allow-run-as-root)
  fi
  # A rank that waits must not keep the core that the others compute on.
  if [ "$ranks" -gt "$(cores)" ]; then
    export OMPI_MCA_mpi_yield_when_idle=1
  fi
  mpirun -n "$ranks" "${options[@]}" "$@"
}

# program: GALVATRON where that is set, else the build folder's, else the one installed beside these scripts, else
# the one on the path.
program() {
  local place
  if [ -n "${GALVATRON:-}" ]; then
    printf '%s\n' "$GALVATRON"
    return
  fi
  for place in "$BUILD_DIR/galvatron" "$ROOT/../../bin/galvatron" "$(command -v galvatron)"; do
    if [ -f "$place" ] && [ -x "$place" ]; then
      printf '%s\n' "$place"
      return
    fi
  done
  echo "no galvatron found: build it, load its module, or set GALVATRON to its path" >&2
  return 3
}

# The rest is for scripts that Slurm runs.

# slurm_prepare: what srun and the program need to know of the job.
slurm_prepare() {
  local end
  # Since Slurm 22.05 srun does not inherit --cpus-per-task.
  if [ -n "${SLURM_CPUS_PER_TASK:-}" ]; then
    export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
  fi
  export OMP_PLACES=${OMP_PLACES:-cores}
  # Before Slurm 23 a job is not told when it ends; the program wants to know, to save in time.
  if [ -z "${SLURM_JOB_END_TIME:-}" ] && end=$(squeue -h -j "$SLURM_JOB_ID" -o %e) && end=$(date -d "$end" +%s 2>/dev/null); then
    export SLURM_JOB_END_TIME=$end
  fi
}

# slurm_launch WORD…: the program on all ranks of the job; returns its exit code. When a job is
# cancelled Slurm signals the batch shell too; it must live on until the ranks have saved.
slurm_launch() {
  local galvatron code=0 pid extra=()
  galvatron=$(program) || return 3
  read -ra extra <<<"${GALVATRON_SRUN_OPTIONS:-}"
  srun --mpi="${GALVATRON_MPI_TYPE:-pmix}" --kill-on-bad-exit=1 "${extra[@]}" "$galvatron" "$@" &
  pid=$!
  trap 'say "the batch shell got a signal; the ranks have it too"' TERM USR1
  while kill -0 "$pid" 2>/dev/null; do
    wait "$pid" || true # returns early when a signal comes
  done
  wait "$pid" || code=$?
  trap - TERM USR1
  return "$code"
}

# run_folder WORD…: the run folder of a command line (run.out or --out).
run_folder() {
  local galvatron
  galvatron=$(program) || return 3
  "$galvatron" show "$@" | sed -n 's/^  out  *"\([^"]*\)".*/\1/p' | head -n 1
}

# newest_step FOLDER: the step of the newest checkpoint of a run folder; 0 without one.
newest_step() {
  local file newest=0
  for file in "$1"/checkpoints/step-*.h5; do
    file=${file##*/step-}
    file=${file%.h5}
    if [[ $file =~ ^[0-9]+$ ]] && ((10#$file > newest)); then
      newest=$((10#$file))
    fi
  done
  echo "$newest"
}

# slurm_again STEP_BEFORE STEP_NOW: whether a job that ended with 75 may go on in another one. At most MAX_RESTARTS
# times, and never without a new checkpoint: such a job would come back for ever.
slurm_again() {
  local restarts=$((${SLURM_RESTART_COUNT:-0} + ${GALVATRON_RESTARTS:-0})) most=${MAX_RESTARTS:-100}
  if (($2 <= $1)); then
    say "not queued again: the newest checkpoint is still of step $1; the time limit may be too short for one checkpoint"
    return 1
  fi
  if ((restarts >= most)); then
    say "not queued again: MAX_RESTARTS=$most is reached; submit again to go on from step $2"
    return 1
  fi
  say "queued again at step $2 (was $1), restart $((restarts + 1)) of at most $most"
}

# slurm_resubmit: a new job as this one, with the words of the array RESUBMIT and its log beside this one's.
slurm_resubmit() {
  local log options=(-N "$SLURM_JOB_NUM_NODES" -n "$SLURM_NTASKS" -p "$SLURM_JOB_PARTITION")
  options+=("--time=$(squeue -h -j "$SLURM_JOB_ID" -o %l)")
  if [ -n "${SLURM_CPUS_PER_TASK:-}" ]; then options+=(-c "$SLURM_CPUS_PER_TASK"); fi
  if [ -n "${SLURM_JOB_ACCOUNT:-}" ]; then options+=(-A "$SLURM_JOB_ACCOUNT"); fi
  log=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's|^ *StdOut=||p')
  # The name of the log, not its folder, whose digits are no job's.
  if [ -n "$log" ]; then options+=("--output=${log%/*}/$(sed -E "s/(^|[^0-9])$SLURM_JOB_ID([^0-9]|\$)/\1%j\2/g" <<<"${log##*/}")"); fi
  # What holds for this job alone: the new one has an end and a count of its own.
  env -u SLURM_JOB_END_TIME -u SLURM_RESTART_COUNT \
    GALVATRON_RESTARTS=$((${SLURM_RESTART_COUNT:-0} + ${GALVATRON_RESTARTS:-0} + 1)) sbatch "${options[@]}" "${RESUBMIT[@]}"
}

# slurm_chain VERB DECK WORD…: plays the verb; when it was stopped after saving (exit code 75) the job is queued again,
# under its own number where the site allows that, else as a new one.
slurm_chain() {
  local folder before code=0
  folder=$(run_folder "${@:2}")
  before=$(newest_step "$folder")
  slurm_launch "$@" || code=$?
  if ((code != 75)) || ! slurm_again "$before" "$(newest_step "$folder")"; then
    return "$code"
  fi
  scontrol requeue "$SLURM_JOB_ID" || slurm_resubmit
}
