#!/bin/bash
# The two commands of the README on a machine that has nothing: a bare Debian tree, made by debootstrap in a temporary
# folder and gone afterwards, with a copy of the last commit in it. Needs root, debootstrap and Debian's packages; takes
# an hour or more, so it is no part of the regular tests.
#
#   tests/fresh_machine.sh                       quickstart.sh, then run.sh
#   tests/fresh_machine.sh COMMAND …             other commands, each one word, in their order
#
# SUITE (bookworm), MIRROR (what this machine uses), KEEP=yes to keep the tree, CACHE=FOLDER to compile with this
# machine's ccache folder (`ccache -k cache_dir`): a second play takes its objects from there, and a checkout that was
# built with CCACHE_BASEDIR and CCACHE_NOHASHDIR shares them. Without it nothing compiled before is used.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=${SUITE:-bookworm}
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
  echo "skipped: needs root and debootstrap" >&2
  exit 77
fi
mirror=${MIRROR:-$({ sed -nE 's|^URIs: *(\S+).*|\1|p; s|^deb +(\[[^]]*\] +)?(\S+) .*|\2|p' \
  /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } | head -n 1)}
commands=("$@")
if [ $# -eq 0 ]; then
  commands=(jobscripts/quickstart.sh tests/run.sh)
fi

cache=${CACHE:+$(realpath -e "$CACHE")}

tree=$(mktemp -d "${TMPDIR:-/tmp}/galvatron-fresh-XXXXXX")
finish() {
  if [ "${KEEP:-}" = yes ]; then
    echo "== the tree is kept: $tree"
  else
    rm -rf --one-file-system "$tree"
  fi
}
trap finish EXIT
chmod 755 "$tree" # it is the root folder of the users in it

echo "== a bare $suite from $mirror in $tree"
debootstrap --variant=minbase --include=ca-certificates "$suite" "$tree" "$mirror" >"$tree.log" 2>&1 || {
  cat "$tree.log" "$tree/debootstrap/debootstrap.log" 2>/dev/null
  exit 1
}
rm -f "$tree.log"
# How this machine reaches Debian's packages, and nothing else of it.
for name in /etc/resolv.conf /etc/hosts $(grep -ls Acquire:: /etc/apt/apt.conf /etc/apt/apt.conf.d/* || true); do
  if [ -f "$name" ]; then cp -L "$name" "$tree$name"; fi
done
mkdir "$tree/root/galvatron"
git archive HEAD | tar -x -C "$tree/root/galvatron"
settings=()
if [ -n "$cache" ]; then
  mkdir -p "$tree/root/.cache/ccache"
  settings=(CCACHE_DIR=/root/.cache/ccache CCACHE_BASEDIR=/root CCACHE_NOHASHDIR=1)
fi

# Its own mounts and processes: whatever a command leaves behind ends with it.
play() {
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child --propagation private bash -c '
    mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount --rbind /sys "$1/sys" &&
    mount -t tmpfs tmpfs "$1/dev/shm" && { [ -z "$3" ] || mount --bind "$3" "$1/root/.cache/ccache"; } &&
    exec chroot "$1" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
      "${@:4}" bash -c "cd /root/galvatron && exec $2"' fresh "$tree" "$1" "$cache" "${settings[@]}"
}
for command in "${commands[@]}"; do
  begin=$SECONDS
  echo "== $command"
  play "$command" || {
    code=$?
    echo "== $command: exit code $code after $((SECONDS - begin)) s" >&2
    exit "$code"
  }
  echo "== $command: passed in $((SECONDS - begin)) s"
done
