#!/usr/bin/env bash
# bench_sequences.sh [ROUNDS]: training steps of networks for sequences, beside PyTorch's, on one thread. Prints a table of
# the processor time of the quickest step of all rounds (2): PyTorch in float, Octet in float and quantized, and
# their ratios. OCTET_BIN: where octet_measure is, which `cmake --preset bench` builds; without PyTorch, Octet alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rounds=${1:-2}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || { echo "usage: scripts/bench_sequences.sh [ROUNDS]" >&2 && exit 2; }
measure=${OCTET_BIN:-build/bench/bin}/octet_measure
seconds=${OCTET_SECONDS:-3}
[ -x "$measure" ] || { echo "bench_sequences: no $measure: cmake --preset bench && cmake --build --preset bench" >&2 && exit 2; }
. scripts/bench_peers.sh
mkdir -p build/bench
tune_torch "$PWD/build/bench"

# quickest COMMAND...: milliseconds of processor time.
quickest() { "$@" 2>/dev/null | sed -n 's/.*"cpu_min": *\([0-9.e-]*\).*/\1/p' | awk '{ print 1000 * $1 }'; }
least() { printf '%s\n' "$@" | sort -g | head -1; }

echo "| network | batch | PyTorch, float | Octet, float | Octet, quantized | float to PyTorch | quantized to float |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
for network in gru64 gru128 lstm64 lstm64_fused lstm128 lstm128_fused tcn attention; do
  for batch in 32 128; do
    peers=() floats=() integers=()
    for ((round = 0; round < rounds; ++round)); do
      if [ -n "$has_torch" ]; then
        peers+=("$(quickest "${tuned[@]}" OMP_NUM_THREADS=1 /usr/bin/python3 bench/peers/torch_sequences.py ${network%_fused} $batch 1 "$seconds")")
      fi
      for mode in float qat; do
        took=$(quickest "$measure" --threads 1 step --network $network --mode $mode --batch $batch --steps 12 \
          --seconds "$seconds")
        if [ $mode = float ]; then floats+=("$took"); else integers+=("$took"); fi
      done
    done
    awk -v name=$network -v batch=$batch -v peer="$(least "${peers[@]:--}")" -v real="$(least "${floats[@]}")" \
      -v whole="$(least "${integers[@]}")" 'BEGIN {
        has = peer != "-"
        printf "| %s | %d | %s | %.1f ms | %.1f ms | %s | %.2f |\n", name, batch, has ? sprintf("%.1f ms", peer) : "-",
          real, whole, has ? sprintf("%.2f", real / peer) : "-", whole / real
      }'
  done
done
