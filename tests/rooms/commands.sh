#!/usr/bin/env bash
# The commands that a page shows do what they are shown for: every block of sh behind a line "<!-- run -->"
# ends without an error, one after the other, in a folder that looks like this project's.
# Usage: commands.sh <source folder> <build folder> <work folder> <page>...
set -euo pipefail
source=$1 build=$2 work=$3
shift 3

for page; do
  rm -rf "$work"
  mkdir -p "$work/build"
  ln -s "$build" "$work/build/release"
  ln -s "$source/examples" "$work/examples"
  awk '
    BEGIN { print "set -euxo pipefail" }
    /^<!-- run -->$/ { marked = 1; next }
    marked && /^```sh$/ { inside = 1; next }
    inside && /^```$/ { inside = marked = 0 }
    inside { print; ++lines }
    END { exit lines == 0 }' "$source/$page" >"$work/commands.sh" ||
    { echo "$page shows no command to run" >&2; exit 1; }
  (cd "$work" && env -u OCTET_MNIST_DIR bash commands.sh)
done
