#!/usr/bin/env bash
# A comment stands alone: an editor shows that of a function without the one of the function above.
# Prints every comment that begins with a word for something outside of it ("That of", "The same",
# "Those", "Of the", ...) and fails where there is one. Usage: comments.sh <source folder>
set -euo pipefail
cd "$1"

find . -path ./build -prune -o \( -name '*.h' -o -name '*.cpp' \) -print0 | sort -z | xargs -0 awk '
  FNR == 1 { begins = 1 }
  /^ *\/\/\/? / {
    ++seen
    doc = /^ *\/\/\/ (Of|That|Those|The same|The one of|The one that|One that|Ones|Its|Their|They|Also|Else|Does so|Does the same|Writes (that|those)|Adds (that|those)|Puts (that|those|their)) /
    if (begins && (doc || /^ *\/\/ (That of|Those of|The same|Of the|Of an?|Ones) /)) {
      print FILENAME ":" FNR ":" $0
      bad = 1
    }
  }
  /\/\/\/< (Of|That|Those|The same|One of) / { print FILENAME ":" FNR ":" $0; bad = 1 }
  # A line behind an empty one of the same comment continues it.
  { begins = !/^ *\/\// }
  END {
    if (seen < 1000) { print "found " seen + 0 " lines of comments; is this the source folder?"; bad = 1 }
    exit bad
  }'
