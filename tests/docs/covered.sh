#!/usr/bin/env bash
# Every fenced block of README.md and docs/ is compiled or run by a test, or says why it is not. What
# tests a block stands in a comment right before it, which is invisible where the page is rendered:
#   <!-- run -->                        sh: tests/rooms/commands.sh runs it
#   <!-- given: PARAMETERS -->          cpp: tests/rooms/snippets.sh compiles it (README.md: unmarked)
#   <!-- program: FILE -->              it is that file of ours, to the letter
#   <!-- quoted: FILE -->               its lines stand in that file, others of it where it has "..."
#   <!-- tried by: tests/docs/X.sh -->  that test compiles or runs it
#   <!-- not run: REASON -->            nothing does
# Blocks of "text" hold nothing to run.
# Usage: covered.sh <source folder> <page of commands.sh or test of this folder>...
set -euo pipefail
cd "$1"
shift
registered=" $* "
. tests/docs/blocks.sh

# Whether the lines on stdin stand in FILE in their order, one right behind the other but for "...".
# Spaces, empty lines and the backslashes of macros do not count.
stands_in() {
  awk '
    BEGIN { parts = 0 }
    { line = $0; sub(/\\$/, "", line); gsub(/ +/, " ", line); sub(/^ /, "", line); sub(/ $/, "", line) }
    line == "" { next }
    NR == FNR { file[++lines] = line; next }
    line == "..." { parts += size[parts] > 0; next }
    { part[parts, ++size[parts]] = line }
    END {
      at = 1
      for (p = 0; p <= parts && size[p] > 0; ++p) {
        for (; at + size[p] - 1 <= lines; ++at) {
          for (i = 1; i <= size[p] && part[p, i] == file[at + i - 1]; ++i) { }
          if (i > size[p]) break
        }
        if (at + size[p] - 1 > lines) exit 1
        at += size[p]
      }
      exit size[0] == 0
    }' "$1" -
}

# What is wrong with the block, printed; nothing if a test covers it.
problem() {
  local page=$1 line=$2 language=$3 kind=$4 detail=$5
  case "$language $kind" in
    *" program")
      block "$page" "$line" | cmp -s - "$detail" || echo "is not $detail to the letter: copy it there"
      ;;
    *" quoted")
      block "$page" "$line" | stands_in "$detail" || echo "does not stand in $detail as it is there"
      ;;
    *" not run")
      [ -n "$detail" ] || echo "does not say why it is not run"
      ;;
    *" tried by")
      if [[ $registered != *" $detail "* ]]; then
        echo "is marked as tried by $detail, which CTest does not run"
      elif ! grep -qE "take ${language//+/\\+}([ ;]|$)" "$detail"; then
        echo "is marked as tried by $detail, which takes none of $language"
      fi
      ;;
    "sh run" | "console run")
      [[ $registered == *" $page "* ]] ||
        echo "is marked to be run, but tests/rooms/commands.sh is not given the page"
      ;;
    "cpp given" | "text ") ;;
    "cpp ") [ "$page" = README.md ] || echo "has no mark that says which test compiles it" ;;
    "- "*) echo "has no language: text, if there is nothing in it to run" ;;
    *" ") echo "has no mark that says which test runs it" ;;
    *) echo "has the mark '$kind', which no test of $language knows" ;;
  esac
}

mapfile -t pages < <(find README.md docs -name '*.md' | sort)
status=0 count=0 reasons=""
for page in "${pages[@]}"; do
  if grep -nE '^ *~~~' "$page"; then
    echo "$page: a block between ~~~, which no test finds: put it between \`\`\`" >&2
    status=1
  fi
  while read -r line language mark; do
    kind=${mark%%:*} detail=${mark#*:}
    detail=${detail# }
    found=$(problem "$page" "$line" "$language" "$kind" "$detail")
    if [ -n "$found" ]; then
      echo "$page:$line: a block of '$language' $found" >&2
      status=1
    fi
    [ "$kind" != "not run" ] || reasons+="  $page:$line: $detail"$'\n'
    count=$((count + 1))
  done < <(list_blocks "$page")
done
[ "$count" -ge 50 ] || { echo "found $count blocks alone; is this the source folder?" >&2; exit 1; }
printf '%d pages, %d blocks; not run:\n%s' "${#pages[@]}" "$count" "$reasons"
exit $status
