#!/usr/bin/env bash
# Modules that include each other in a circle have to be understood, and changed, as one. A module is
# a header, with its _internal.h or _impl.h, and the source of its name; it includes what either does.
# Prints every circle (strongly connected component) of more than `most` modules and fails where there
# is one, or where all are smaller: the number only falls.
# Usage: cycles.sh <source folder>
set -euo pipefail
cd "$1"

most=3

folders=()
for folder in core frontend runtime layers deploy train compress import report command_line application examples tools; do
  [ ! -d "$folder" ] || folders+=("$folder")
done
grep -rE '^ *# *include *<octet/[^>]*\.h>' --include='*.h' --include='*.cpp' "${folders[@]}" |
  awk -v most="$most" '
  function module(path) {
    sub(/\.(h|cpp)$/, "", path)
    sub(/_(internal|impl)$/, "", path)
    return path
  }
  # Tarjan: numbers[] in the order of visits, low[] the first module on the stack that is reached.
  function visit(name, to, i) {
    numbers[name] = low[name] = ++visited
    stack[++depth] = name
    on_stack[name] = 1
    for (i = 1; i <= count[name]; ++i) {
      to = edges[name, i]
      if (!(to in numbers)) {
        visit(to)
        if (low[to] < low[name]) low[name] = low[to]
      } else if (on_stack[to] && numbers[to] < low[name]) {
        low[name] = numbers[to]
      }
    }
    if (low[name] == numbers[name]) pop_circle(name)
  }
  function pop_circle(first, name, size, members) {
    do {
      name = stack[depth--]
      on_stack[name] = 0
      members = members " " name
      ++size
    } while (name != first)
    if (size > largest) largest = size
    if (size > most) { print size " modules in a circle, expected at most " most ":" members; bad = 1 }
  }
  {
    file = $0
    sub(/:.*/, "", file)
    header = $0
    sub(/^[^<]*<octet\//, "", header)
    sub(/>.*/, "", header)
    from = module(file)
    to = module(header)
    if (from != to && !seen[from, to]++) edges[from, ++count[from]] = to
  }
  END {
    for (name in count) {
      if (!(name in numbers)) visit(name)
    }
    if (largest < most) { print "the largest circle has " largest " modules: allow no more"; bad = 1 }
    if (visited < 300) { print "found " visited + 0 " modules; is this the source folder?"; bad = 1 }
    exit bad
  }'
