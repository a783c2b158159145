#!/usr/bin/env bash
# Every installed header compiles alone, against nothing but what is installed, leaves no macro behind,
# and none is of the internal kind. Usage: headers.sh <build folder> [<include folder>...]
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

# No macro of ours is left in the programs that include them.
if left=$(printf '#include <%s>\n' "${headers[@]}" | c++ "${options[@]}" -dM -E -x c++ - | grep '#define OCTET_'); then
  printf 'macros of installed headers:\n%s\n' "$left" >&2
  exit 1
fi

# An older language is told by the first line of all that follows from it.
first=$(for header in octet/octet.h octet/runtime/interpreter.h octet/deploy/tflite/reader.h; do
  [ ! -f "$header" ] || echo "#include <$header>" |
    { c++ "${options[@]}" -std=c++17 -x c++ - 2>&1 || true; } | grep -m 1 'error:'
done)
if grep -v 'Octet needs C++20' <<<"$first"; then
  echo "the first error of a program in C++17 is another than that Octet needs C++20" >&2
  exit 1
fi
