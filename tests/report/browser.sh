#!/usr/bin/env bash
# browser.sh PAGE FOLDER: browser.mjs, where there is Node to run it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if ! command -v node >/dev/null; then
  echo "skipped: there is no Node (on Debian: apt-get install nodejs)"
  exit 77
fi
exec node "$here/browser.mjs" "$1" "$2"
