#!/usr/bin/env bash
# Every installed header compiles alone, against nothing but what is installed, and none is of the
# internal kind. Usage: headers.sh <build folder> [<include folder>...]
set -euo pipefail
build=$1
shift
work=$build/installed_headers

rm -rf "$work"
cmake --install "$build" --component headers --prefix "$work/prefix" >/dev/null
cd "$work/prefix/include"
mapfile -t headers < <(find octet -name '*.h' | sort)
[ "${#headers[@]}" -ge 40 ] || { echo "found ${#headers[@]} installed headers" >&2; exit 1; }
if internal=$(printf '%s\n' "${headers[@]}" | grep -E '/kernels/|_internal\.h$|_impl\.h$'); then
  printf 'installed, but internal:\n%s\n' "$internal" >&2
  exit 1
fi

options=(-std=c++20 -Wall -Wextra -Werror -fsyntax-only -I .)
for folder; do options+=(-isystem "$folder"); done
printf '%s\n' "${headers[@]}" | xargs -P "$(nproc)" -I{} bash -c '
  header=$1
  shift
  echo "#include <$header>" | c++ "$@" -x c++ - || { echo "$header does not compile alone" >&2; exit 1; }
' bash {} "${options[@]}"
