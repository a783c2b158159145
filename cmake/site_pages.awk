#!/usr/bin/awk -f
# Doxygen's filter for Markdown pages: site_pages.awk PAGE. Doxygen gives headings no names that
# links could use, and takes one name for all pages; so each heading gets that of its page and GitHub's
# anchor, and links to headings name it. Links to sources become references to Doxygen's pages of them.

function anchor_of(heading) {
  heading = tolower(heading)
  gsub(/\]\([^)]*\)/, "", heading)
  gsub(/[^a-z0-9 _-]/, "", heading)
  gsub(/ /, "-", heading)
  return heading
}
# The name of a page: its file without folder and ".md", in letters and digits.
function page_of(path) {
  sub(/.*\//, "", path)
  sub(/\.md$/, "", path)
  gsub(/[^A-Za-z0-9]/, "-", path)
  return tolower(path)
}
function heading_name(page, anchor) { return "page-" page "-" anchor }

/^ *```/ { code = !code }
!code && /^##+ / {
  text = $0
  sub(/^#+ +/, "", text)
  print $0 " {#" heading_name(page_of(FILENAME), anchor_of(text)) "}"
  next
}
!code {
  rest = $0
  line = ""
  while (match(rest, /\]\([^)#: ]*#[^)]*\)/)) {
    target = substr(rest, RSTART + 2, RLENGTH - 3)
    hash = index(target, "#")
    page = hash == 1 ? page_of(FILENAME) : page_of(substr(target, 1, hash - 1))
    line = line substr(rest, 1, RSTART + 1) "#" heading_name(page, substr(target, hash + 1)) ")"
    rest = substr(rest, RSTART + RLENGTH)
  }
  rest = line rest
  line = ""
  while (match(rest, /\]\([^)#: ]*\.(cpp|c|h)\)/)) {
    target = substr(rest, RSTART + 2, RLENGTH - 3)
    sub(/^(\.\.\/)*/, "", target)
    line = line substr(rest, 1, RSTART + 1) "@ref " target ")"
    rest = substr(rest, RSTART + RLENGTH)
  }
  print line rest
  next
}
{ print }
