#!/usr/bin/env bash
# bench_streams.sh [ROUNDS]: one step of networks that carry states, on one thread: Octet's interpreter and exported
# C beside ONNX Runtime's package for Node and LiteRT.js (XNNPACK as WebAssembly), in float and int8. Prints a table of
# processor time of the quickest call of all rounds (2), and of how many results of the first steps the peers have
# other bytes than Octet (of floats: another value). OCTET_BIN: where octet_measure is, which `cmake --preset bench`
# builds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rounds=${1:-2}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || { echo "usage: scripts/bench_streams.sh [ROUNDS]" >&2 && exit 2; }
measure=${OCTET_BIN:-build/bench/bin}/octet_measure
[ -x "$measure" ] || { echo "bench_streams: no $measure: cmake --preset bench && cmake --build --preset bench" >&2 && exit 2; }
out=build/bench/streams
packages=$PWD/build/bench/packages
mkdir -p "$out"
bash tests/interop/install.sh "$packages" >&2 || packages=""

# number NAME: of the line of JSON on the input.
number() { sed -n "s/.*\"$1\": *\([0-9.e-]*\).*/\1/p"; }

# quickest COMMAND...: the least cpu_min of all rounds goes to `took`, and "differing" to `differing`.
quickest() {
  took="-" differing="-"
  local round line now
  for ((round = 0; round < rounds; ++round)); do
    line=$("$@") || return 0
    now=$(number cpu_min <<<"$line" | awk '{ printf "%.1f", $1 }')
    differing=$(number differing <<<"$line")
    took=$(printf '%s\n%s\n' "$took" "$now" | grep -v '^-$' | sort -g | head -1)
  done
}

echo "| network | numbers | Octet, us | exported C | ONNX Runtime | LiteRT.js | other results |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
for network in gru64 gru128 lstm64 lstm128 tcn; do
  for mode in float qat; do
    prefix=$out/$network-$mode
    quickest "$measure" --threads 1 stream --network $network --mode $mode --write "$prefix"
    row="| $network | $([ $mode = float ] && echo float || echo int8) | $took |"
    took="-"
    if [ $mode = qat ]; then
      "${CC:-gcc}" -O3 -march=native -I "$out" bench/peers/stream_steps.c -o "$out/steps"
      quickest "$out/steps"
    fi
    row+=" $took |"
    others=""
    for runtime in onnxruntime litert; do
      took="-"
      [ -z "$packages" ] || quickest node bench/peers/stream.mjs $runtime "$prefix" "$packages"
      row+=" $took |"
      others+="${others:+, }$differing"
    done
    echo "$row $others |"
  done
done
