#!/usr/bin/env bash
# Holds the lists of packages in scripts/common.sh against what is used: each package is in one list, and
# something uses it; a header that our sources include, and a program that our scripts run, is in a list, or
# its package is, or every build has it anyway. Asks dpkg which package a file is of.
# Usage: check.sh <source folder>
set -euo pipefail
cd "$1"
. scripts/common.sh

command -v dpkg-query >/dev/null || { echo "packages: skipped: there is no dpkg here"; exit 77; }

# files REGEX: those of ours whose paths match.
tree=$(find . \( -name build -o -name .git \) -prune -o -type f -printf '%P\n' | sort)
files() { grep -E "$1" <<<"$tree"; }

problems=0
problem() { echo "packages: $*" >&2 && problems=1; }

# Lines "LIST KIND MARK PACKAGE".
lists=$(for list in $(compgen -A function octet_ | grep -E '_(requirements|optional)$'); do
  "$list" | sed "s/^/$list /; s/:/ /"
done)
listed=$(awk '{ print $4 }' <<<"$lists" | sort)
for package in $(uniq -d <<<"$listed"); do
  problem "$package is in several lists: $(awk -v p="$package" '$4 == p { print $1 }' <<<"$lists" | xargs)"
done

# Packages that a user of the lists has: those in them, what these depend on, what every Debian has, and
# what a compiler brings.
mapfile -t names <<<"$listed"
had=$({
  echo "$listed"
  { dpkg-query -W -f '${Pre-Depends}, ${Depends}\n' "${names[@]}" 2>/dev/null || true; } | tr ',|' '\n' | sed 's/:any//' | awk '{ print $1 }'
  dpkg-query -W -f '${Package} ${Priority} ${Essential}\n' | awk '$2 == "required" || $3 == "yes" { print $1 }'
  dpkg-query -W -f '${Package}\n' | grep -E '^(gcc|g\+\+|cpp|binutils|libc6-dev|linux-libc-dev|lib(gcc|stdc\+\+)-[0-9]+-dev)'
} | sort -u)
# Lines "PATH PACKAGE", of headers and programs.
owners=$(dpkg-query -S '*/include/*' '/usr/bin/*' '/bin/*' '/usr/sbin/*' '/sbin/*' '/usr/lib/*/bin/*' |
  sed -nE '/^diversion/d; s/^([^:, ]+)[^/]*: (.*)/\2 \1/p')

# require WHAT MARK PATH...: the mark is in a list, or a package is had that one of these paths is of.
require() {
  local what=$1 mark=$2 found
  shift 2
  ! grep -qE " $mark " <<<"$lists" || return 0
  found=$(awk -v paths=" $* " 'index(paths, " " $1 " ") { print $2 }' <<<"$owners" | sort -u)
  [ -z "$found" ] || grep -qxF "$found" <<<"$had" ||
    problem "$what is of $(xargs <<<"$found"), which no list in scripts/common.sh has"
}

headers=$(files '\.(cpp|h|c)$' | grep -v '^bench/peers/' |
  xargs grep -hoE '^ *# *include *<[^>]+(\.h|\.hpp|/[A-Z]\w+)>' | sed 's/.*<//; s/>//' | grep -vE '^octet|^arm_' | sort -u)
for header in $headers; do
  require "<$header>" "header $header" {/usr/include,/usr/include/x86_64-linux-gnu,/usr/include/eigen3}/"$header"
done

# Words that stand there in awk and in messages.
prose='file|make|print'
# Words of our scripts in the place of a command that are names of programs here.
scripts=$(files '^(scripts|tests)/.*\.sh$|^\.ci/run$')
words=$(xargs sed -E 's/(^|[ \t])#.*//' <<<"$scripts" |
  grep -oP "(^|[|&;(!]|\b(then|do|else|if|exec|until|while|xargs|timeout \S+|command -v)) *\K[a-z][a-z0-9+._-]+(?=[ );](?!=)|$)" | grep -vxE "$prose" | sort -u)
for word in $(comm -23 <(echo "$words") <({ compgen -bk; xargs grep -hoE '^ *[a-z_]+\(\)' <<<"$scripts" | tr -d ' ()'; } | sort -u)); do
  path=$(command -v "$word") || continue
  require "the program $word" "program $word" "$path" "$(realpath "$path")" "/bin/$word"
done

# What nothing uses: neither the last part of a mark, without its ending, nor its folder, nor the package
# stands elsewhere.
everything=$(files '\.(sh|cmake|json|cpp|h|mjs|py)$|CMakeLists\.txt$|^\.ci/run$')
while read -r list kind mark package; do
  name=${mark%/__init__.py}
  name=${name##*/} folder=${mark%/*}
  # What -fsanitize=fuzzer links.
  [ "$mark" != libclang_rt.fuzzer ] || name=-fsanitize=fuzzer
  uses=$(xargs grep -hiF -e "${name%.*}" -e "$package" -e "${folder%/lib}" <<<"$everything" | grep -cviF "$kind:$mark $package" || true)
  [ "$uses" -gt 0 ] || problem "$list has $package, and nothing uses $mark"
done <<<"$lists"
exit "$problems"
