#!/bin/sh
# shares_no_code.sh NM OBJECT...: whether the objects of the code paths define no function that
# others define too. Of an inline function with external linkage the linker keeps any copy, perhaps
# that with AVX-512 for processors that have none.
nm=$1
shift
failed=0
paths=0
for object; do
  case $object in
    *kernels_portable*) paths=$((paths + 1)) ;;
    *kernels_*)
      paths=$((paths + 1))
      symbols=$("$nm" -C "$object") || exit 1
      if printf '%s\n' "$symbols" | grep -E ' [uVW] .*::'; then
        echo "shares_no_code: expected no weak functions in $object, found those above; make them" \
          "static, or always_inline where they are members" >&2
        failed=1
      fi
      ;;
  esac
done
if [ $paths -eq 0 ]; then
  echo "shares_no_code: expected the object of a code path, found none among $# objects" >&2
  failed=1
fi
exit $failed
