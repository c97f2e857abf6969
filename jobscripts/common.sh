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
