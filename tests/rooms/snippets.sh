#!/usr/bin/env bash
# The C++ that documentation shows compiles against the headers. Each fragment of README.md, and of the
# other pages each behind a line "<!-- given: PARAMETERS -->", becomes the body of a function with these
# parameters; the line is invisible where the page is rendered. Programs with a main() are held equal
# to the examples, which are built. Usage: snippets.sh <source folder> <work folder> <compiler> [<option>...]
set -euo pipefail
source=$1 work=$2 compiler=$3
shift 3

rm -rf "$work"
mkdir -p "$work"
for page in "$source/README.md" "$source"/docs/*.md "$source"/docs/*/*.md; do
  awk -v page="$page" -v every="$([ "$page" = "$source/README.md" ] && echo 1 || echo 0)" '
    /^<!-- given: .*-->$/ { given = $0; sub(/^<!-- given: */, "", given); sub(/ *-->$/, "", given); marked = 1; next }
    /^```cpp$/ { inside = 1; body = ""; line = NR + 1; next }
    /^```$/ && inside {
      inside = 0
      if ((every || marked) && body !~ /int main\(/) {
        printf "void fragment_%d(%s) {\n#line %d \"%s\"\n%s}\n", ++count, given, line, page, body
      }
      marked = 0; given = ""; next
    }
    inside { body = body $0 "\n"; next }
    NF { marked = 0; given = "" }
  ' "$page" >"$work/fragments"
  [ -s "$work/fragments" ] || continue
  printf '#include <octet/octet.h>\nusing namespace octet;\n' | cat - "$work/fragments" \
    >"$work/$(basename "$page" .md).cpp"
done
rm "$work/fragments"

[ -e "$work/README.cpp" ] || { echo "README.md shows no fragment of C++" >&2; exit 1; }
for file in "$work"/*.cpp; do
  echo "$(basename "$file"): $(grep -c '^void fragment_' "$file") fragments"
  "$compiler" -std=c++20 -fsyntax-only "$@" "$file"
done
