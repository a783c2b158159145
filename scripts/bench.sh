#!/usr/bin/env bash
# Installs what is missing, builds, and runs Octet and its peers in turn; tables and a plot at the
# end. Needs OCTET_MNIST_DIR, the folder that scripts/get_mnist.sh fills. Takes about ten minutes a
# round, of which the convolutional networks take four, and wants a machine with nothing else to do.
set -euo pipefail
start=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh
. scripts/bench_peers.sh
. scripts/bench_run.sh
. scripts/bench_networks.sh

usage() {
  echo "usage: scripts/bench.sh [--rounds N] [--quick] [--networks] [--goals] [--docs] [--out DIR]"
  echo "  --rounds N  repetitions, whose medians are shown (3)"
  echo "  --quick     one round of two epochs at batch 512: whether everything runs, no figures"
  echo "  --networks  the convolutional networks alone, without the MLP"
  echo "  --goals     the project's goals beside the ratios"
  echo "  --docs      puts tables and plots into docs/performance.md, docs/training.svg and"
  echo "              docs/networks.svg"
  echo "  --out DIR   for results.jsonl, *.md and *.svg (build/bench/results)"
}
bad_usage() {
  echo "octet: $*" >&2
  usage >&2
  exit 2
}

rounds=3 epochs=3 images=25600 batches=(32 128 512) out=$PWD/build/bench/results goals=() docs=""
quick="" with_mlp=yes network_seconds=2 network_steps=20
command_line="scripts/bench.sh $*"
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || bad_usage "--rounds: expected a number from 1 up"
      rounds=$2; shift ;;
    --quick) rounds=1 epochs=2 images=2560 batches=(512) quick=yes network_seconds=1 network_steps=8 ;;
    --networks) with_mlp="" ;;
    --goals) goals=(--goals) ;;
    --docs) docs=yes ;;
    --out) [ -n "${2:-}" ] || bad_usage "--out: expected a folder"
      out=$(realpath -m "$start/$2"); [[ $2 != /* ]] || out=$2; shift ;;
    --help | -h) usage; exit 0 ;;
    *) bad_usage "unknown option $1" ;;
  esac
  shift
done
data=${OCTET_MNIST_DIR:-}
if [ -n "$with_mlp" ]; then
  [ -f "$data/train-images-idx3-ubyte.gz" ] || {
    echo "octet: OCTET_MNIST_DIR names no folder with MNIST; scripts/get_mnist.sh fetches it" >&2
    exit 2
  }
  data=$(cd "$start" && cd "$data" && pwd)
fi

octet_install octet_runtime_requirements octet_requirements octet_bench_requirements
octet_install octet_peer_requirements octet_python_requirements octet_interop_requirements || echo "octet: going on with the peers that are there" >&2
octet_build bench all -DOCTET_BUILD_TESTS=OFF -DOCTET_BUILD_PEERS=ON
bin=$PWD/build/bench/bin
peers=$PWD/bench/peers
prepare_peers "$PWD/build/bench"
mkdir -p "$out"
results=$out/results.jsonl
: >"$results"

# ours MODE: the options of mnist_qat that train in float alone or quantized from the start.
ours() {
  if [ "$1" = float ]; then echo --epochs "$epochs" --qat-epochs 0; else
    echo --epochs 0 --qat-epochs "$epochs" --qat-lr 1e-3 --qat-schedule constant; fi
}

# train ROUND BATCH THREADS: a line of every program.
train() {
  local round=$1 batch=$2 threads=$3 mode isa
  local names=(what=train "round=$round" "batch=$batch" "threads=$threads")
  if [ -x "$bin/onednn_floor" ]; then
    run "${names[@]}" who=floor -- "$bin/onednn_floor" "$batch" "$threads" 256,128
  fi
  for isa in "" avx2; do
    [ -z "$isa" ] || [ "$threads" = 1 ] || continue
    for mode in float qat; do
      # shellcheck disable=SC2046
      run "${names[@]}" who=octet mode=$mode isa=${isa:-auto} -- env OCTET_ISA=$isa \
        "$bin/mnist_qat" --data "$data" --json --no-progress --out "$out/$mode" \
        --batch "$batch" --threads "$threads" $(ours $mode)
    done
  done
  for mode in float qat; do
    if [ -n "$has_torch" ]; then
      run "${names[@]}" who=torch mode=$mode isa=auto -- "${tuned[@]}" OMP_NUM_THREADS="$threads" \
        /usr/bin/python3 "$peers/torch_mlp.py" $mode "$batch" "$threads" "$epochs" "$data"
    fi
    if [ -x "$bin/libtorch_mlp" ]; then
      run "${names[@]}" who=libtorch mode=$mode isa=auto -- "${tuned[@]}" \
        OMP_NUM_THREADS="$threads" "$bin/libtorch_mlp" $mode "$batch" "$threads" "$epochs" "$data"
    fi
  done
}

# wide ROUND: 784-2048-2048-10, where the products are all that counts.
wide() {
  local mode names=(what=wide "round=$1")
  if [ -x "$bin/onednn_floor" ]; then
    run "${names[@]}" who=floor mode=float -- "$bin/onednn_floor" 256 1 2048,2048
  fi
  for mode in float qat; do
    run "${names[@]}" who=octet mode=$mode -- "$bin/octet_measure" train --mode $mode \
      --batch 256 --hidden 2048,2048 --images "$((images / 5))" --epochs "$epochs"
  done
}

# infer ROUND: the model of the default run.
infer() {
  local names=(what=infer "round=$1") model=$out/default/mnist_int8.tflite
  run "${names[@]}" who=peak -- "$bin/octet_measure" peak
  run "${names[@]}" who=octet -- "$bin/octet_measure" infer --run "$out/default" --data "$data"
  if [ -x "$bin/onednn_infer" ]; then
    run "${names[@]}" who=onednn -- "$bin/onednn_infer" "$model" "$data" 1
    run "${names[@]}" who=onednn_vnni -- env ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI \
      "$bin/onednn_infer" "$model" "$data" 1
  fi
  if [ -x "$bin/xnnpack_infer" ]; then
    run "${names[@]}" who=xnnpack -- "$bin/xnnpack_infer" "$model" "$data" 1
  fi
  if [ -n "$has_onnxruntime" ]; then
    # Of both styles the one that it fuses.
    "$bin/octet" export "$model" --onnx "$out/default/mnist_int8.onnx" --style standard
    run "${names[@]}" who=onnxruntime -- node "$peers/onnxruntime_infer.mjs" \
      "$out/default/mnist_int8.onnx" "$data" 1 "$packages"
  fi
}

# growth ROUND AXIS AT OPTIONS...: one point of a table, on noise, so that no data set counts.
growth() {
  local round=$1 axis=$2 at=$3 mode threads=1
  shift 3
  [ "$axis" != threads ] || threads=$at
  for mode in float qat; do
    run what=growth "round=$round" "axis=$axis" "at=$at" mode=$mode -- \
      "$bin/octet_measure" --threads "$threads" train --mode $mode --images "$images" --epochs "$epochs" "$@"
  done
}

all_growth() {
  local round=$1 value
  for value in 32 128 512 2048; do growth "$round" batch $value --batch $value; done
  for value in 128 256 512 1024; do growth "$round" width $value --hidden "$value,$value"; done
  growth "$round" depth 1 --hidden 256
  growth "$round" depth 2 --hidden 256,256
  growth "$round" depth 4 --hidden 256,256,256,256
  growth "$round" depth 8 --hidden 256,256,256,256,256,256,256,256
  for value in 1 2 4; do
    [ "$value" -gt "$(nproc)" ] || growth "$round" threads "$value" --batch 128
  done
}

# write_docs MARK REPORT: puts a report between its two marks in docs/performance.md.
write_docs() {
  local document=docs/performance.md
  {
    sed "/^<!-- $1 begins/q" "$document"
    echo
    cat "$out/$2"
    echo
    sed -n "/^<!-- $1 ends/,\$p" "$document"
  } >"$out/performance.md"
  cp "$out/performance.md" "$document"
}

# What is measured in a round on the MLP.
mlp_round() {
  local round=$1 batch threads mode
  for batch in "${batches[@]}"; do
    for threads in 1 2; do
      train "$round" "$batch" "$threads"
    done
  done
  wide "$round"
  infer "$round"
  run what=start "round=$round" -- "$bin/octet_measure" train --mode qat --data "$data" \
    --epochs "$epochs"
  for mode in float qat; do
    run what=profile mode=$mode "round=$round" -- "$bin/octet_measure" train --mode $mode \
      --data "$data" --epochs "$epochs" --profile
  done
  all_growth "$round"
}

cpu=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n1)
run what=machine "date=$(date -u +%F)" "cpu=${cpu:-$(uname -m)}" "cores=$(nproc)" \
  "compiler=$(c++ --version | head -n1)" "command=$command_line" -- echo '{}'
if [ -n "$with_mlp" ]; then
  run what=default -- "$bin/mnist_qat" --data "$data" --json --no-progress --out "$out/default"
fi
describe_networks
for ((round = 1; round <= rounds; ++round)); do
  [ -z "$with_mlp" ] || mlp_round "$round"
  networks_round "$round"
done
"$bin/octet_bench_report" "$out" "${goals[@]}"
if [ -n "$docs" ]; then
  write_docs networks networks.md
  cp "$out/networks.svg" docs/networks.svg
  if [ -n "$with_mlp" ]; then
    write_docs bench report.md
    cp "$out/training.svg" docs/training.svg
  fi
fi
echo "octet: results.jsonl, the tables and the plots are in $out" >&2
