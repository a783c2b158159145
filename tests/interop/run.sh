#!/usr/bin/env bash
# run.sh SCRIPT CASES PACKAGES [MORE]: runs a script of this folder, where install.sh had its way.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ ! -f "$3/installed" ]; then
  cat "$3/skipped" 2>/dev/null || echo "packages are not installed: run the test interop_packages"
  exit 77
fi
exec node "$here/$1" "${@:2}"
