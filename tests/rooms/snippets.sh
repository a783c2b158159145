#!/usr/bin/env bash
# The C++ that documentation shows compiles against the headers. Each fragment of README.md, and of the
# other pages each behind a line "<!-- given: PARAMETERS -->", becomes the body of a function with these
# parameters; the line is invisible where the page is rendered. What a fragment includes beside octet.h
# comes before all of them.
# Usage: snippets.sh <source folder> <work folder> <compiler> [<option>...]
set -euo pipefail
source=$1 work=$2 compiler=$3
shift 3
cd "$source"
. tests/docs/blocks.sh

rm -rf "$work"
mkdir -p "$work"
for page in "$source/README.md" "$source"/docs/*.md "$source"/docs/*/*.md; do
  count=0
  while read -r line language mark; do
    [[ $language == cpp && ($mark == "given:"* || "$mark $page" == " $source/README.md") ]] || continue
    count=$((count + 1))
    given=${mark#given:}
    printf 'void fragment_%d(%s) {\n#line %d "%s"\n%s\n}\n' "$count" "${given# }" "$((line + 1))" "$page" \
      "$(block "$page" "$line")"
  done < <(list_blocks "$page") >"$work/fragments"
  [ -s "$work/fragments" ] || continue
  {
    grep '^#include ' "$work/fragments" || true
    echo 'using namespace octet;'
    sed 's/^#include .*//' "$work/fragments"
  } >"$work/$(basename "$page" .md).cpp"
done
rm "$work/fragments"

[ -e "$work/README.cpp" ] || { echo "README.md shows no fragment of C++" >&2; exit 1; }
# Precompiled, since every page includes it.
echo '#include <octet/octet.h>' >"$work/octet.h"
"$compiler" -std=c++20 -x c++-header "$@" "$work/octet.h" -o "$work/octet.h.gch"
for file in "$work"/*.cpp; do
  echo "$(basename "$file"): $(grep -c '^void fragment_' "$file") fragments"
  "$compiler" -std=c++20 -fsyntax-only -include "$work/octet.h" "$@" "$file"
done
