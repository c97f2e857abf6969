#!/bin/bash
# Installs what building needs, and with --tests what testing needs too, on Debian and Ubuntu. Quick where all of it
# is there. None of the packages brings a service. Without root and sudo it says what to install.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache pkg-config git
  openmpi-bin libopenmpi-dev libhdf5-openmpi-dev
  libdnnl-dev ocl-icd-opencl-dev
  libtomlplusplus-dev libfmt-dev libcli11-dev nlohmann-json3-dev
  librandom123-dev libxxhash-dev libhwloc-dev libpapi-dev
)
optional=()
for argument in "$@"; do
  case $argument in
    --tests)
      packages+=(libgtest-dev libbenchmark-dev hdf5-tools python3)
      # Newer systems no longer have this one; the test of the format says so and is skipped.
      optional+=(clang-format-14)
      ;;
    *)
      echo "usage: jobscripts/setup.sh [--tests]" >&2
      exit 2
      ;;
  esac
done

if ! command -v dpkg-query >/dev/null; then
  echo "setup.sh knows Debian and Ubuntu. Here, install what these packages hold (spack.yaml lists the same):" >&2
  echo "  ${packages[*]}" >&2
  exit 3
fi

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done
for package in "${optional[@]}"; do
  if ! is_installed "$package" && apt-cache show "$package" >/dev/null 2>&1; then
    missing+=("$package")
  fi
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: nothing is missing"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null || ! { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    echo "setup: neither root nor sudo; please have installed: apt-get install ${missing[*]}" >&2
    exit 3
  fi
  as_root=(sudo)
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=500 "$@"
}
echo "setup: installing ${missing[*]}"
apt update
apt install --no-install-recommends "${missing[@]}"
echo "setup: done"
