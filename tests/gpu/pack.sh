#!/bin/bash
# A bundle of the GPU tests for machines without development files: binaries, the shared libraries that they need, and
# run.sh.
#
#   tests/gpu/pack.sh BUILD_FOLDER BUNDLE.tar.gz [MOST_MIB]
#
# Everything is played on one rank, without a launcher: the tests, the training parity suite, and the program itself for
# bench.sh; the plug-ins of Open MPI go in for that. MOST_MIB (default: no limit) bounds the bundle; libraries then go in from the smallest on, and what does
# not fit is listed: the machine must have it.
set -euo pipefail
if [ $# -lt 2 ]; then
  sed -n '5p' "$0" >&2
  exit 2
fi
build=$1
bundle=$2
most=$((${3:-1000000} * 1024 * 1024))
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$folder/galvatron-gpu-tests
mkdir -p "$root/bin" "$root/lib"

packed_bytes() {
  gzip -c "$1" | wc -c
}
spent=0
while IFS= read -r binary; do
  libraries=$(ldd "$binary")
  strip -o "$root/bin/$(basename "$binary")" "$binary"
  spent=$((spent + $(packed_bytes "$root/bin/$(basename "$binary")")))
  awk '$2 == "=>" && $3 ~ /^\// { print $3 }' <<<"$libraries" >>"$folder/libraries"
done < <(
  find "$build/tests/gpu" -type f -executable -name 'test_*' | sort
  find "$build/tests/parity/runtime" -type f -executable -name test_runtime_plans 2>/dev/null
)
# The program, and what Open MPI opens at run time.
if [ -x "$build/galvatron" ]; then
  strip -o "$root/galvatron" "$build/galvatron"
  spent=$((spent + $(packed_bytes "$root/galvatron")))
  ldd "$build/galvatron" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' >>"$folder/libraries"
  mpi=$(awk '/libmpi\./ { print; exit }' "$folder/libraries")
  mkdir -p "$root/lib/openmpi"
  find "$(dirname "$(readlink -f "$mpi")")" -path '*openmpi*' -name 'mca_*.so' -exec cp {} "$root/lib/openmpi/" \; || true
  for plugin in "$root"/lib/openmpi/mca_*.so; do
    [ -e "$plugin" ] || continue
    spent=$((spent + $(packed_bytes "$plugin")))
    ldd "$plugin" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' >>"$folder/libraries"
  done
  mkdir -p "$root/inputs"
  cp "$here/../../inputs/gpt/gpt2-124m.toml" "$here/../../inputs/gpt/gpt2-1558m.toml" \
    "$here/../../inputs/llama/llama-8b-slice.toml" "$root/inputs/"
fi
if [ ! -s "$folder/libraries" ]; then
  echo "no GPU tests in $build: build them with GALVATRON_WITH_CUDA=ON" >&2
  exit 1
fi

# The C library belongs to the machine, the driver too.
sort -u "$folder/libraries" | grep -vE '/(lib(c|m|dl|rt|pthread|resolv|cuda|nvidia-[a-z]+)\.so|ld-linux)' |
  xargs -r stat -L -c '%s %n' | sort -n >"$folder/by_size"
while read -r bytes library; do
  # What is far beyond the limit is not worth compressing to know.
  if [ $((bytes / 8)) -gt $((most - spent)) ]; then
    echo "left out, $((bytes >> 20)) MiB: $(basename "$library")"
    continue
  fi
  packed=$(packed_bytes "$library")
  if [ $((spent + packed)) -gt "$most" ]; then
    echo "left out, $((packed >> 20)) MiB packed: $(basename "$library")"
    continue
  fi
  spent=$((spent + packed))
  cp -L "$library" "$root/lib/"
done <"$folder/by_size"
cp "$here/run.sh" "$here/bench.sh" "$here/bundle_env.sh" "$root/"
tar -czf "$bundle" -C "$folder" galvatron-gpu-tests
echo "$bundle: $(($(stat -c %s "$bundle") >> 10)) KiB, $(find "$root/bin" -type f | wc -l) tests, $(find "$root/lib" -type f | wc -l) libraries"
