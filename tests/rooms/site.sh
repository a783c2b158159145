#!/usr/bin/env bash
# On the site that Doxygen makes of docs/, every link of a page leads to a file of the site and, behind
# a #, to a place in it. Usage: site.sh <folder of the site>
set -euo pipefail
cd "$1"

# Of the pages that Markdown became, not of the reference, which Doxygen links by itself.
links=$(grep -o 'href="[^"]*"' index.html md_*.html | sed 's/:href="/ /; s/"$//' | sort -u)
status=0 count=0
while read -r page target; do
  case $target in
    http://* | https://* | mailto:* | javascript:* | "") continue ;;
  esac
  count=$((count + 1))
  file=${target%%#*}
  [ -n "$file" ] || file=$page
  if [ ! -e "$file" ]; then
    echo "$page: a link to $target, which is not there" >&2
    status=1
  elif [[ $target == *#* && -n ${target#*#} ]] && ! grep -qE "(id|name)=\"${target#*#}\"" "$file"; then
    echo "$page: a link to $target, which is no place in $file" >&2
    status=1
  fi
done <<<"$links"
[ "$count" -gt 100 ] || { echo "found $count links alone" >&2; exit 1; }
echo "$(ls md_*.html | wc -l) pages, $count links"
exit $status
