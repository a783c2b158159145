#!/usr/bin/env bash
# Whether the builds of GCC and Clang train the same bytes: builds mnist_qat with the presets
# `release` and `clang`, runs both on every code path of this machine, and compares the hashes.
# Ends with 0 where all are equal, 1 where not, 77 where there is no clang++.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! command -v clang++ >/dev/null 2>&1; then
  echo "same_bytes: no clang++ here (Debian: clang libomp-dev)" >&2
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for preset in release clang; do
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" --parallel "${OCTET_JOBS:-$(nproc)}" --target mnist_qat >/dev/null
done

# The code paths that the program says it has here.
paths=$(OCTET_ISA=none build/release/bin/mnist_qat --out "$work/none" 2>&1 |
  sed -n 's/.*this processor (\([^)]*\)).*/\1/p' | tr -d ,) || true

status=0
first=
for preset in release clang; do
  for path in $paths; do
    # Drawn digits: the script needs no data set.
    hashes=$(OCTET_MNIST_DIR='' OCTET_ISA=$path "build/$preset/bin/mnist_qat" --epochs 1 \
      --qat-epochs 1 --hidden 32,16 --no-progress --out "$work/$preset-$path" |
      sed -n '/^SHA-256$/,/^$/p' | sed 1d)
    printf '%s, %s\n%s\n' "$preset" "$path" "$hashes"
    : "${first:=$hashes}"
    [ -n "$hashes" ] && [ "$hashes" = "$first" ] || status=1
  done
done
if [ "$status" -eq 0 ]; then
  echo "the same bytes everywhere"
else
  echo "same_bytes: the hashes differ" >&2
fi
exit "$status"
