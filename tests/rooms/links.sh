#!/usr/bin/env bash
# Every link of the Markdown pages leads to a file and, behind a #, to a heading that are there, and
# README.md leads to every page of docs/, over other pages or straight, and llms.txt lists it. Links to other hosts are not
# followed. Usage: links.sh <source folder>
set -euo pipefail
cd "$1"
mapfile -t pages < <(find README.md llms.txt CHANGELOG.md CONTRIBUTING.md SECURITY.md docs tests/interop \( -name '*.md' -o -name llms.txt \) | sort)

# Lines "H page anchor" for headings, as GitHub names them, and "L page line target" for links.
facts=$(awk '
  FNR == 1 { code = 0; split("", times) }
  /^ *```/ { code = !code; next }
  code { next }
  /^#+ / {
    anchor = tolower($0)
    sub(/^#+ +/, "", anchor)
    gsub(/\]\([^)]*\)/, "", anchor)
    gsub(/[^a-z0-9 _-]/, "", anchor)
    gsub(/ /, "-", anchor)
    print "H", FILENAME, anchor (times[anchor]++ ? "-" times[anchor] - 1 : "")
  }
  {
    # A link may begin on the line before the one with its target.
    line = $0
    gsub(/`[^`]*`/, "", line)
    while (match(line, /\]\([^)]*\)/)) {
      print "L", FILENAME, FNR, substr(line, RSTART + 2, RLENGTH - 3)
      line = substr(line, RSTART + RLENGTH)
    }
  }' "${pages[@]}")

status=0
declare -A leads_to
while read -r page line target; do
  case $target in
    http://* | https://* | mailto:*) continue ;;
  esac
  path=${target%%#*} anchor=""
  [[ $target != *#* ]] || anchor=${target#*#}
  file=$page
  [ -z "$path" ] || file=$(realpath -m --relative-to=. "$(dirname "$page")/$path")
  if [[ $target == *" "* || $file == ../* || ! -e $file ]]; then
    echo "$page:$line: a link to $target, which is not there" >&2
    status=1
  elif [ -n "$anchor" ] && ! grep -qxF "H $file $anchor" <<<"$facts"; then
    echo "$page:$line: a link to $target: $file has no such heading" >&2
    status=1
  fi
  leads_to[$page]+=" $file"
done < <(sed -n 's/^L //p' <<<"$facts")

declare -A reached=([README.md]=1)
next=(README.md)
while [ ${#next[@]} -gt 0 ]; do
  page=${next[0]}
  next=("${next[@]:1}")
  for file in ${leads_to[$page]:-}; do
    [ -z "${reached[$file]:-}" ] || continue
    reached[$file]=1
    next+=("$file")
  done
done
for page in "${pages[@]}"; do
  [[ $page != docs/* || -n ${reached[$page]:-} ]] ||
    { echo "$page: no link of README.md leads here" >&2; status=1; }
done
for page in "${pages[@]}"; do
  [[ $page != docs/* || " ${leads_to[llms.txt]:-} " == *" $page "* ]] ||
    { echo "$page: llms.txt does not list it" >&2; status=1; }
done
echo "${#pages[@]} pages, $(grep -c '^L ' <<<"$facts") links"
exit $status
