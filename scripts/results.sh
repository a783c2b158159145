#!/usr/bin/env bash
# results.sh [FOLDER]: trains the networks of docs/results.md, but for CIFAR-10, and prints one table: integers, the
# same steps in float, and the time of a run. Runs stay in FOLDER (results); one that is finished is not repeated.
# Data: OCTET_MNIST_DIR (else scripts/get_mnist.sh gets it), OCTET_SENSORS_DIR with JapaneseVowels and BasicMotions of
# the UEA archive, OCTET_FSDD_DIR with the recordings of the Free Spoken Digit Dataset; rows whose data are not there
# are left out, which the last lines say. OCTET_BIN: where octet and anomaly are, instead of a build. OCTET_SEEDS ("0 1 2"),
# OCTET_ROWS: a pattern of bash for names of rows (*).
set -euo pipefail
start=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh
if [ -z "${OCTET_BIN:-}" ]; then
  octet_install octet_runtime_requirements octet_requirements
  octet_build release "octet_tool anomaly" -DOCTET_BUILD_TESTS=OFF
  OCTET_BIN=$PWD/build/release/bin
fi
mnist=${OCTET_MNIST_DIR:-}
if [ -z "$mnist" ]; then
  mnist=$PWD/build/mnist
  [ -e "$mnist/train-images-idx3-ubyte" ] || [ -e "$mnist/train-images-idx3-ubyte.gz" ] || scripts/get_mnist.sh "$mnist"
fi
cd "$start"
OCTET_BIN=$(cd "$OCTET_BIN" && pwd)
folder=${1:-results}
mkdir -p "$folder"
read -ra seeds <<<"${OCTET_SEEDS:-0 1 2}"
left_out=()

# number NAME RUN: the number of that name that a run came to; its epochs have numbers of the same names.
number() { "$OCTET_BIN/octet" compare "$2" --json | sed -n "s/^ *\"$1\": *\([0-9.e+-]*\),*\$/\1/p" | head -1; }

# row NAME DATA OPTIONS...: trains with each seed and prints a line of the table.
row() {
  local name=$1 data=$2
  shift 2
  # shellcheck disable=SC2053
  [[ $name == ${OCTET_ROWS:-*} ]] || return 0
  if [ ! -e "$data" ]; then
    left_out+=("$name")
    return 0
  fi
  local seed run figures=""
  for seed in "${seeds[@]}"; do
    run=$folder/$name-$seed
    if [ ! -e "$run/metrics.json" ]; then
      rm -rf "$run"
      local began=$SECONDS
      "$OCTET_BIN/octet" train --data "$data" --out "$run" --seed "$seed" --no-progress --no-report --control "$@" >"$run.log" 2>&1 || {
        echo "results: $name, seed $seed: failed, see $run.log" >&2
        exit 1
      }
      echo $((SECONDS - began)) >"$run.seconds"
    fi
    figures+="$(number integer_accuracy "$run") $(number control_accuracy "$run")"
    figures+=" $(cat "$run.seconds") $(number differing_predictions "$run")"$'\n'
  done
  printf '%s' "$figures" | awk -v name="$name" -v options="$*" '
    NR == 1 { low = high = $1 }
    { sum += $1; control += $2; seconds += $3; differing += $4
      if ($1 < low) low = $1
      if ($1 > high) high = $1 }
    END {
      printf "| %s | `%s` | %.2f %% | %.2f to %.2f %% | %.2f %% | %d | %.0f s |\n", name, options, 100 * sum / NR,
        100 * low, 100 * high, 100 * control / NR, differing, seconds / NR
    }'
}

# anomaly_row: the line of examples/anomaly.cpp, whose accuracies are areas under the ROC curve.
anomaly_row() {
  # shellcheck disable=SC2053
  [[ anomaly == ${OCTET_ROWS:-*} ]] || return 0
  if [ ! -x "$OCTET_BIN/anomaly" ]; then
    left_out+=(anomaly)
    return 0
  fi
  local seed run figures=""
  for seed in "${seeds[@]}"; do
    run=$folder/anomaly-$seed
    if [ ! -e "$run.seconds" ]; then
      rm -rf "$run"
      mkdir "$run"
      local began=$SECONDS
      (cd "$run" && "$OCTET_BIN/anomaly" "$seed") >"$run.log" 2>&1 || {
        echo "results: anomaly, seed $seed: failed, see $run.log" >&2
        exit 1
      }
      echo $((SECONDS - began)) >"$run.seconds"
    fi
    figures+="$(sed -n 's/^float .* AUC //p' "$run.log") $(sed -n 's/^int8.* AUC //p' "$run.log")"
    figures+=" $(sed -n 's/^layer outputs .*: //p' "$run.log") $(cat "$run.seconds")"$'\n'
  done
  printf '%s' "$figures" | awk '
    NR == 1 { low = high = $2 }
    { control += $1; sum += $2; differing += $3; seconds += $4
      if ($2 < low) low = $2
      if ($2 > high) high = $2 }
    END {
      printf "| anomaly | `anomaly SEED`, AUC | %.4f | %.4f to %.4f | %.4f | %d | %.0f s |\n", sum / NR, low, high,
        control / NR, differing, seconds / NR
    }'
}

begin=$SECONDS
echo "| result | options of octet train | integers, mean | lowest to highest | the same steps in float | examples in which file and training differ | a run |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
row mnist-mlp "$mnist"
row mnist-mlp-w4 "$mnist" --weight-bits 4 --full-grid --qat-epochs 5
row mnist-mlp-w2 "$mnist" --weight-bits 2 --full-grid --per-channel --qat-epochs 5 --qat-lr 3e-3
row mnist-lenet5 "$mnist" --network lenet5
row mnist-lenet5-w2 "$mnist" --network lenet5 --weight-bits 2 --per-channel --qat-epochs 5
vowels=${OCTET_SENSORS_DIR:-none}/JapaneseVowels
row vowels-gru "$vowels" --network gru --length 29 --padding last --epochs 60 --qat-epochs 20 --batch 16
row vowels-tcn "$vowels" --network tcn --length 29 --epochs 60 --qat-epochs 10 --batch 16
row vowels-attention "$vowels" --network attention --length 29 --epochs 60 --qat-epochs 10 --batch 16
for network in gru tcn attention; do
  row "motions-$network" "${OCTET_SENSORS_DIR:-none}/BasicMotions" --network "$network" --epochs 60 --qat-epochs 10 --batch 16
done
digits=(--class-from '{class}_*_{test=0-4}.wav' --length 8000 --front-end log-mel --frame 32 --frame-hop 20 --mel-channels 20 --batch 32)
recordings=${OCTET_FSDD_DIR:-none}
row digits-dscnn "$recordings" "${digits[@]}" --network dscnn --lr 0.002 --schedule cosine --epochs 10 --qat-epochs 2
row digits-gru "$recordings" "${digits[@]}" --network gru --epochs 20 --qat-epochs 5
for network in tcn attention; do
  row "digits-$network" "$recordings" "${digits[@]}" --network "$network" --epochs 10 --qat-epochs 3
done
anomaly_row
echo
echo "$(((SECONDS - begin + 59) / 60)) minutes on $(nproc) cores"
[ ${#left_out[@]} = 0 ] || echo "left out, their data are not there: ${left_out[*]}"
