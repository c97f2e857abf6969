#!/bin/bash
# Installs what building needs, and with --tests what testing needs too, on Debian and Ubuntu. Quick where all of it
# is there. No service is left running or enabled: Slurm, which the tests start for themselves, is installed without
# its services, and only where there is none. Without root and sudo it says what to install.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache pkg-config git
  openmpi-bin libopenmpi-dev libhdf5-openmpi-dev
  libdnnl-dev ocl-icd-opencl-dev
  libtomlplusplus-dev libfmt-dev libcli11-dev nlohmann-json3-dev
  librandom123-dev libxxhash-dev libhwloc-dev libpapi-dev
)
optional=()
without_services=()
for argument in "$@"; do
  case $argument in
    --tests)
      packages+=(libgtest-dev libbenchmark-dev hdf5-tools python3 python3-h5py iproute2)
      # Newer systems no longer have this one; the test of the format says so and is skipped.
      optional+=(clang-format-14)
      # One of the two kinds of modules; they cannot both be installed.
      command -v ml >/dev/null || [ -e /usr/share/modules/init/bash ] || optional+=(lmod)
      command -v sinfo >/dev/null || without_services=(slurm-wlm munge)
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
for package in "${without_services[@]}"; do
  is_installed "$package" || missing+=("$package")
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

# Services that come with packages neither start now nor with the machine.
policy=/usr/sbin/policy-rc.d
made_policy=
forbid_services() {
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod 755 "$policy"
    made_policy=yes
  fi
  trap allow_services EXIT
}
allow_services() {
  local service
  if [ -n "$made_policy" ]; then "${as_root[@]}" rm -f "$policy"; fi
  for service in munge slurmctld slurmd; do
    "${as_root[@]}" systemctl disable --quiet "$service" 2>/dev/null || true
  done
}

echo "setup: installing ${missing[*]}"
apt update
if [ ${#without_services[@]} -gt 0 ]; then
  forbid_services
fi
apt install --no-install-recommends "${missing[@]}"
echo "setup: done"
