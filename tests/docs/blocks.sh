# Sourced: the fenced blocks of Markdown pages, and how the tests of this folder get at them.
# shellcheck shell=bash disable=SC2154

# list_blocks PAGE: a line for each block of the page: the number of its first line, its language ("-"
# where it has none), and what stands in the comment right before it, <!-- so -->, or nothing.
list_blocks() {
  awk '
    /^ *```/ && !inside {
      inside = 1
      language = $0
      sub(/^ *```/, "", language)
      print FNR, language == "" ? "-" : language, mark
      next
    }
    inside && /^ *```$/ { inside = 0; mark = ""; next }
    inside { next }
    /^ *<!-- .* -->$/ { mark = $0; sub(/^ *<!-- /, "", mark); sub(/ -->$/, "", mark); next }
    NF { mark = "" }' "$1"
}

# block PAGE LINE: the lines of the block that begins there, without the indentation that it has.
block() {
  awk -v first="$2" '
    FNR == first { match($0, /^ */); indent = RLENGTH }
    FNR > first && /^ *```$/ { exit }
    FNR > first { print substr($0, indent + 1) }' "$1"
}

# take LANGUAGE: the blocks of that language that $page marks as tried by this script, one behind the other.
take() {
  local lines line
  mapfile -t lines < <(list_blocks "$source/$page" |
    awk -v language="$1" -v mark="tried by: tests/docs/${0##*/}" '
      $2 == language && index($0, " " mark) { print $1 }')
  if [ ${#lines[@]} -eq 0 ]; then
    echo "${0##*/}: $page: expected a block of $1 that is marked as tried here, found none" >&2
    exit 1
  fi
  for line in "${lines[@]}"; do block "$source/$page" "$line"; done
}

# skip REASON: ends the test as skipped.
skip() {
  echo "skipped: $*"
  exit 77
}

# needs PROGRAM PACKAGE: skips without the program.
needs() {
  command -v "$1" >/dev/null || skip "there is no $1 (on Debian: apt-get install $2)"
}

# same WHAT EXPECTED FOUND: fails unless two files are equal and not empty.
same() {
  [ -s "$2" ] && cmp -s "$2" "$3" && { echo "$1: $(wc -l <"$2") classes as expected"; return 0; }
  echo "$1: expected the classes $(xargs <"$2"), found $(xargs <"$3")" >&2
  exit 1
}
