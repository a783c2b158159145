#!/usr/bin/env bash
# Which files call the system beyond standard C++: those in the table of docs/howto/your_build.md, one for each
# concern. Prints every file that includes such a header and is not there, every row with no file or several, and every
# file of the table that includes none. Usage: system_calls.sh <source folder>
set -euo pipefail
cd "$1"

page=docs/howto/your_build.md
rooms=(core frontend runtime layers deploy train compress import report command_line application examples tools)
{
  sed -n '/^What is no standard C++/,$ s/^| `/row | `/p' "$page"
  grep -rE '^ *# *include *<(csignal|[^>]*\.h)>' --include='*.h' --include='*.cpp' "${rooms[@]}"
} | awk -v page="$page" '
  BEGIN {
    # Folders and headers of libraries, headers of compilers, and those of C in the texts that become C source.
    count = split("octet fmt spdlog google flatbuffers openssl omp.h zlib.h zip.h png.h turbojpeg.h sndfile.h mpi.h " \
                  "cxxabi.h immintrin.h emmintrin.h smmintrin.h arm_neon.h arm_mve.h arm_acle.h " \
                  "string.h stdio.h stdint.h stddef.h", names, " ")
    for (i = 1; i <= count; ++i) known[names[i]] = 1
  }
  /^row / {
    cells = split($0, cell, "|")
    file = cell[cells - 1]
    gsub(/[ `]/, "", file)
    if (file !~ /^[a-z_\/0-9]+\.(cpp|h)$/) { print page ": a row with other than one file: " file; bad = 1 }
    if (file in rows) { print page ": two rows with " file; bad = 1 }
    rows[file] = 1
    next
  }
  {
    file = header = $0
    sub(/:.*/, "", file)
    sub(/^[^<]*</, "", header)
    sub(/>.*$/, "", header)
    folder = header
    sub(/\/.*/, "", folder)
    if (folder in known) next
    calls[file] = 1
    if (!(file in rows)) { print file ": includes <" header ">, and " page " has no row of it"; bad = 1 }
  }
  END {
    for (file in rows) if (!(file in calls)) { print page ": " file " includes no header of the system"; bad = 1 }
    if (length(rows) == 0) { print page ": no table of system calls"; bad = 1 }
    exit bad
  }'
