#!/usr/bin/env bash
# Tests scripts/get_mnist.sh against local mirrors. What needs the real files, which are then
# expected in OCTET_MNIST_DIR, is skipped without them: exit 77, ctest's SKIP_RETURN_CODE.
set -euo pipefail

script=$(cd "$(dirname "$0")/../.." && pwd)/scripts/get_mnist.sh
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
failures=0

readonly names="train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz
t10k-images-idx3-ubyte.gz t10k-labels-idx1-ubyte.gz"

fail() {
  echo "FAIL: $test_name: $*" >&2
  failures=$((failures + 1))
}

# run EXPECTED_STATUS MIRRORS DIR: output goes to $scratch/output.
run() {
  local expected=$1 status=0
  OCTET_MNIST_MIRRORS=$2 "$script" "$3" >"$scratch/output" 2>&1 || status=$?
  if [[ "$status" -ne "$expected" ]]; then
    fail "expected exit status $expected, found $status: $(cat "$scratch/output")"
  fi
}

expect_output() {
  if ! grep -q -- "$1" "$scratch/output"; then
    fail "expected '$1' in: $(cat "$scratch/output")"
  fi
}

expect_empty() {
  local left
  left=$(ls -A "$1")
  if [[ -n "$left" ]]; then fail "expected nothing in $1, found: $left"; fi
}

expect_four() {
  local name
  for name in $names; do
    cmp -s "$1/$name" "$real/$name" || fail "$1/$name is missing or differs"
  done
  if [[ $(find "$1" -mindepth 1 | wc -l) -ne 4 ]]; then fail "more than four files: $(ls -A "$1")"; fi
}

mode_of() {
  local line
  line=$(ls -ld "$1")
  echo "${line:0:10}"
}

# A mirror that has all four names, with contents that cannot be right.
make_junk_mirror() {
  local name
  mkdir -p "$1"
  for name in $names; do echo "not a digit" >"$1/$name"; done
}

test_name="usage"
for arguments in "" "--help" "a b"; do
  status=0
  # shellcheck disable=SC2086
  "$script" $arguments >"$scratch/output" 2>&1 || status=$?
  if [[ "$status" -ne 2 ]]; then fail "'$arguments': expected exit status 2, found $status"; fi
  expect_output "usage: get_mnist.sh DIR"
done

test_name="wrong checksum"
make_junk_mirror "$scratch/junk"
run 1 "file://$scratch/junk" "$scratch/checksum"
expect_output "wrong sha256: expected 440fcabf"
expect_output "no mirror has a good train-images-idx3-ubyte.gz"
expect_empty "$scratch/checksum"

test_name="unreachable mirrors"
# What the script does without them is the next test; file:// needs neither.
nobody="http://127.0.0.1:1/mnist"
if ! command -v curl >/dev/null && ! command -v wget >/dev/null; then
  echo "get_mnist_test: neither curl nor wget here: mirrors that nobody serves are not tried"
  nobody="file://$scratch/nobody"
fi
run 1 "$nobody file://$scratch/nowhere" "$scratch/unreachable"
expect_output "$nobody/train-images-idx3-ubyte.gz: cannot be downloaded"
expect_output "file://$scratch/nowhere/train-images-idx3-ubyte.gz: cannot be downloaded"
expect_empty "$scratch/unreachable"

test_name="neither curl nor wget"
mkdir "$scratch/bin"
for tool in bash chmod cp mkdir mktemp mv rm sha256sum; do
  ln -s "$(command -v "$tool")" "$scratch/bin/$tool"
done
PATH=$scratch/bin run 1 "http://127.0.0.1:1/mnist" "$scratch/neither"
expect_output "neither curl nor wget is installed; on Debian or Ubuntu: apt-get install curl"
expect_empty "$scratch/neither"

test_name="unwritable directory"
echo >"$scratch/file"
run 1 "file://$scratch/junk" "$scratch/file/data"
expect_output "cannot make the directory $scratch/file/data"
if [[ $(id -u) -ne 0 ]]; then
  mkdir "$scratch/locked"
  chmod 555 "$scratch/locked"
  run 1 "file://$scratch/junk" "$scratch/locked"
  expect_output "cannot write to $scratch/locked"
else
  # The superuser may write anywhere but where the kernel itself refuses.
  run 1 "file://$scratch/junk" /proc/self
  expect_output "cannot write to /proc/self"
fi

test_name="interrupted"
mkdir "$scratch/hanging" "$scratch/interrupted"
mkfifo "$scratch/hanging/train-images-idx3-ubyte.gz"
OCTET_MNIST_MIRRORS="file://$scratch/hanging" "$script" "$scratch/interrupted" 2>/dev/null &
victim=$!
# The temporary file shows that the download has begun; nobody ever writes into the pipe.
for _ in $(seq 100); do
  if [[ -n "$(ls -A "$scratch/interrupted")" ]]; then break; fi
  sleep 0.1
done
if [[ -z "$(ls -A "$scratch/interrupted")" ]]; then fail "the download never began"; fi
kill -TERM "$victim"
status=0
wait "$victim" || status=$?
if [[ "$status" -ne 143 ]]; then fail "expected exit status 143, found $status"; fi
# Opening the pipe lets a copy go on that should have been ended, and then it leaves its file.
exec 3<>"$scratch/hanging/train-images-idx3-ubyte.gz"
exec 3>&-
sleep 0.3
expect_empty "$scratch/interrupted"

real=${OCTET_MNIST_DIR:-}
if [[ -n "$real" ]]; then
  real=$(cd "$real" && pwd)
  test_name="good mirror, after an unreachable and a wrong one, into a path with a space"
  run 0 "$nobody file://$scratch/junk file://$real/" "$scratch/new dir/good"
  expect_output "train-images-idx3-ubyte.gz: from file://$real"
  expect_four "$scratch/new dir/good"
  labels="$scratch/new dir/good/t10k-labels-idx1-ubyte.gz"
  if [[ "$(mode_of "$labels")" != "$(mode_of "$scratch/file")" ]]; then
    fail "the files have other permissions than a new file has"
  fi

  test_name="files that are right are kept, half and wrong ones replaced"
  head -c 1000 "$real/t10k-images-idx3-ubyte.gz" >"$scratch/new dir/good/t10k-images-idx3-ubyte.gz"
  echo junk >"$scratch/new dir/good/t10k-labels-idx1-ubyte.gz"
  touch -d 2001-01-01 "$scratch/new dir/good/train-labels-idx1-ubyte.gz"
  run 0 "file://$real" "$scratch/new dir/good"
  expect_output "train-labels-idx1-ubyte.gz: already there"
  expect_output "t10k-images-idx3-ubyte.gz: from file://$real"
  expect_four "$scratch/new dir/good"
  if [[ "$scratch/new dir/good/train-labels-idx1-ubyte.gz" -nt "$scratch/file" ]]; then
    fail "a file that was right was written again"
  fi

  test_name="a mirror whose last file is cut"
  mkdir "$scratch/half"
  for name in $names; do ln -s "$real/$name" "$scratch/half/$name"; done
  rm "$scratch/half/t10k-labels-idx1-ubyte.gz"
  head -c 2000 "$real/t10k-labels-idx1-ubyte.gz" >"$scratch/half/t10k-labels-idx1-ubyte.gz"
  run 1 "file://$scratch/half" "$scratch/cut"
  expect_output "half/t10k-labels-idx1-ubyte.gz: wrong sha256"
  if [[ $(find "$scratch/cut" -mindepth 1 | wc -l) -ne 3 ]]; then fail "$(ls -A "$scratch/cut")"; fi
fi

if [[ "$failures" -ne 0 ]]; then
  echo "$failures failed" >&2
  exit 1
fi
if [[ -z "$real" ]]; then
  echo "SKIPPED: OCTET_MNIST_DIR is not set: downloads of the real files; the rest passed"
  exit 77
fi
echo "all passed"
