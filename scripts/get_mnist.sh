#!/usr/bin/env bash
# Downloads the four files of MNIST into DIR and checks their sha256. Files that are already right
# are kept. OCTET_MNIST_MIRRORS (base URLs, separated by spaces; file:// works) replaces the mirrors.
set -euo pipefail

readonly default_mirrors="https://ossci-datasets.s3.amazonaws.com/mnist
https://storage.googleapis.com/cvdf-datasets/mnist"

readonly files="
440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609 train-images-idx3-ubyte.gz
3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c train-labels-idx1-ubyte.gz
8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6 t10k-images-idx3-ubyte.gz
f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6 t10k-labels-idx1-ubyte.gz"

readonly connect_seconds=15
readonly total_seconds=300

temporary=""
child=""

say() { echo "get_mnist: $*" >&2; }

die() {
  say "$*"
  exit 1
}

cleanup() {
  if [[ -n "$child" ]]; then kill "$child" 2>/dev/null || true; fi
  if [[ -n "$temporary" ]]; then rm -f -- "$temporary"; fi
}

sha256_of() {
  local line
  if command -v sha256sum >/dev/null; then
    line=$(sha256sum -- "$1")
  elif command -v shasum >/dev/null; then
    line=$(shasum -a 256 -- "$1")
  else
    die "neither sha256sum nor shasum is installed"
  fi
  # A name with special characters makes the line start with a backslash.
  line=${line#\\}
  echo "${line%% *}"
}

# download URL FILE: in the background, so that a signal need not wait for the transfer to end.
download() {
  local url=$1 file=$2
  if [[ "$url" == file://* ]]; then
    cp -- "${url#file://}" "$file" 2>/dev/null &
  elif command -v curl >/dev/null; then
    curl --fail --location --silent --connect-timeout "$connect_seconds" \
      --max-time "$total_seconds" --output "$file" -- "$url" &
  elif command -v wget >/dev/null; then
    timeout "$total_seconds" wget --quiet --tries=1 --timeout="$connect_seconds" \
      --output-document="$file" -- "$url" &
  else
    die "neither curl nor wget is installed; on Debian or Ubuntu: apt-get install curl ca-certificates"
  fi
  child=$!
  local status=0
  wait "$child" || status=$?
  child=""
  return "$status"
}

# get DIR SUM NAME: the file from the first mirror that has it right.
get() {
  local dir=$1 sum=$2 name=$3 mirror url found
  local target=$dir/$name
  if [[ -f "$target" && "$(sha256_of "$target")" == "$sum" ]]; then
    say "$name: already there"
    return
  fi
  if [[ -d "$target" ]]; then die "$target is a directory; move it away"; fi
  temporary=$(mktemp "$dir/.$name.XXXXXX" 2>/dev/null) || die "cannot write to $dir"
  for mirror in $mirrors; do
    url=${mirror%/}/$name
    if ! download "$url" "$temporary"; then
      say "$url: cannot be downloaded"
      continue
    fi
    found=$(sha256_of "$temporary")
    if [[ "$found" != "$sum" ]]; then
      say "$url: wrong sha256: expected $sum, found $found"
      continue
    fi
    # mktemp makes files that only their owner can read.
    chmod "$(printf '%o' $((0666 & ~$(umask))))" "$temporary"
    mv -f -- "$temporary" "$target"
    temporary=""
    say "$name: from $mirror"
    return
  done
  die "no mirror has a good $name; tried: ${mirrors//$'\n'/ }"
}

if [[ $# -ne 1 || "$1" == -* || -z "$1" ]]; then
  echo "usage: get_mnist.sh DIR" >&2
  exit 2
fi
readonly directory=$1
readonly mirrors=${OCTET_MNIST_MIRRORS:-$default_mirrors}

trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

mkdir -p -- "$directory" 2>/dev/null || die "cannot make the directory $directory"
while read -r sum name; do
  if [[ -n "$name" ]]; then get "$directory" "$sum" "$name"; fi
done <<<"$files"
