#!/bin/sh
# hardened.sh READELF PROGRAM...: whether release programs are bound before they start, are position
# independent, and check their stack and the lengths that the C library is given.
readelf=$1
shift
failed=0
for program; do
  found=$("$readelf" --wide --file-header --dynamic --program-headers --symbols "$program") || exit 1
  for wanted in 'DYN (Position-Independent' 'BIND_NOW' 'GNU_RELRO' '__stack_chk_fail' '_chk@GLIBC'; do
    if ! printf '%s\n' "$found" | grep -qF "$wanted"; then
      echo "hardened: expected $wanted in $program, found none: is octet_harden() called for it?" >&2
      failed=1
    fi
  done
done
exit $failed
