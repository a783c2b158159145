#!/usr/bin/env bash
# The commands that a page shows do what they are shown for: every block of sh behind a line "<!-- run -->",
# and what stands behind "$ " in every block of console, ends without an error, one after the other, in a
# folder that looks like this project's and holds what tests/docs/prepare.sh made.
# Usage: commands.sh <source folder> <build folder> <prepared folder> <work folder> <page>
set -euo pipefail
source=$1 build=$2 given=$3 work=$4 page=$5
cd "$source"
. tests/docs/blocks.sh

rm -rf "$work"
mkdir -p "$work"
cp -r "$given"/. "$work"
mkdir "$work/build"
ln -s "$build" "$work/build/release"
ln -s "$source/examples" "$work/examples"
echo "set -euxo pipefail" >"$work/commands.sh"
while read -r line language mark; do
  case "$language $mark" in
    "sh run") block "$source/$page" "$line" ;;
    "console run") block "$source/$page" "$line" | sed -n 's/^\$ //p' ;;
  esac
done < <(list_blocks "$source/$page") >>"$work/commands.sh"
[ "$(wc -l <"$work/commands.sh")" -gt 1 ] || { echo "$page shows no command to run" >&2; exit 1; }
cd "$work"
export HOME=$work PATH=$build/bin:$PATH
env -u OCTET_MNIST_DIR bash commands.sh
