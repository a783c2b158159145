#!/usr/bin/env bash
# install.sh DIR: puts the packages of package-lock.json into DIR, once for each lock file.
# Exit code 77, and the reason in DIR/skipped, where this machine cannot have them; 1 where what
# came is not what the lock file says.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here packages=$1 oldest=18

skip() {
  rm -f "$packages/installed"
  echo "foreign runtimes skipped: $*" | tee "$packages/skipped"
  exit 77
}

mkdir -p "$packages"
rm -f "$packages/skipped"
command -v node >/dev/null || skip "there is no Node; version $oldest or later is needed"
major=$(node --print 'process.versions.node.split(".")[0]') || skip "Node does not start"
[ "$major" -ge "$oldest" ] || skip "Node $major is older than $oldest"
command -v npm >/dev/null || skip "there is no npm"
if cmp -s "$here/package-lock.json" "$packages/installed"; then
  echo "packages are there"
  exit 0
fi

rm -f "$packages/installed"
cp "$here/package.json" "$here/package-lock.json" "$packages/"
cd "$packages"
if npm ci --ignore-scripts --legacy-peer-deps --no-audit --no-fund --no-update-notifier \
  --fetch-retries=1 >npm.log 2>&1; then
  cp package-lock.json installed
  exit 0
fi
if grep -Eq 'EINTEGRITY|EUSAGE' npm.log; then
  cat npm.log >&2
  exit 1
fi
skip "npm cannot install the packages: $(grep -m1 -E '^npm (ERR!|error)' npm.log || tail -n1 npm.log)"
