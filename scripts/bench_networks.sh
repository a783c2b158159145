# Sourced by bench.sh: the convolutional networks of examples/networks beside their peers, and how
# their training grows. Uses has_torch, has_onnxruntime, tuned, bin, peers, out and packages.
# shellcheck shell=bash disable=SC2154
. scripts/bench_peers.sh
. scripts/bench_run.sh

networks=(lenet5 dscnn resnet8 mobilenet autoencoder)

# Batch sizes of a network's steps.
network_batches() {
  if [ -n "$quick" ] || [ "$1" = mobilenet ]; then echo 32; else echo 32 128; fi
}

# Writes what the peers read of each network: its layers, its model in integers, that as ONNX.
describe_networks() {
  local name
  for name in "${networks[@]}"; do
    "$bin/octet_measure" network --network "$name" --tflite "$out/$name.tflite" >"$out/$name.json"
    # The style whose scales all stand at their tensors is the one that ONNX Runtime fuses.
    "$bin/octet" export "$out/$name.tflite" --onnx "$out/$name.onnx" --style standard --int8-io >/dev/null
  done
}

# network_steps ROUND NETWORK BATCH: ours and the peers' in turn.
network_steps() {
  local round=$1 name=$2 batch=$3 mode isa
  local names=(what=steps "round=$round" "network=$name" "batch=$batch")
  if [ -x "$bin/onednn_network_floor" ]; then
    run "${names[@]}" threads=1 who=floor mode=float isa=auto -- \
      "$bin/onednn_network_floor" "$out/$name.json" "$batch" 1
  fi
  for mode in float qat; do
    for isa in "" avx2; do
      run "${names[@]}" threads=1 who=octet mode=$mode isa=${isa:-auto} -- env OCTET_ISA=$isa \
        "$bin/octet_measure" step --network "$name" --mode $mode --batch "$batch" \
        --steps "$network_steps" --seconds "$network_seconds"
    done
    if [ -n "$has_torch" ]; then
      run "${names[@]}" threads=1 who=torch mode=$mode isa=auto -- "${tuned[@]}" OMP_NUM_THREADS=1 \
        /usr/bin/python3 "$peers/torch_network.py" "$out/$name.json" $mode "$batch" 1 "$network_seconds"
    fi
    if [ -x "$bin/libtorch_network" ]; then
      run "${names[@]}" threads=1 who=libtorch mode=$mode isa=auto -- "${tuned[@]}" OMP_NUM_THREADS=1 \
        "$bin/libtorch_network" "$out/$name.json" $mode "$batch" 1 "$network_seconds"
    fi
  done
  run "${names[@]}" threads=2 who=octet mode=qat isa=auto -- "$bin/octet_measure" --threads 2 \
    step --network "$name" --mode qat --batch "$batch" --steps "$network_steps" \
    --seconds "$network_seconds"
}

# network_invokes ROUND NETWORK BATCH: one thread, int8 in and out.
network_invokes() {
  local round=$1 name=$2 batch=$3
  local names=(what=invokes "round=$round" "network=$name" "batch=$batch")
  run "${names[@]}" who=octet -- "$bin/octet_measure" inference --network "$name" --batch "$batch"
  if [ -x "$bin/onednn_network" ]; then
    run "${names[@]}" who=onednn -- "$bin/onednn_network" "$out/$name.tflite" "$batch" 1
  fi
  if [ -x "$bin/xnnpack_network" ]; then
    run "${names[@]}" who=xnnpack -- "$bin/xnnpack_network" "$out/$name.tflite" "$batch" 1
  fi
  if [ -n "$has_onnxruntime" ]; then
    run "${names[@]}" who=onnxruntime -- node "$peers/onnxruntime_network.mjs" "$out/$name.onnx" \
      "$out/$name.json" "$batch" 1 "$packages"
  fi
}

# convolutions ROUND AXIS AT BATCH OPTIONS...: one point of a table of growth.
convolutions() {
  local round=$1 axis=$2 at=$3 batch=$4 mode
  shift 4
  local names=("round=$round" "axis=$axis" "at=$at" "batch=$batch")
  for mode in float qat; do
    run what=network_growth "${names[@]}" mode=$mode -- "$bin/octet_measure" step \
      --network convolutions --mode $mode --batch "$batch" --steps 12 "$@"
    run what=network_memory "${names[@]}" mode=$mode -- "$bin/octet_measure" memory \
      --network convolutions --mode $mode --batch "$batch" "$@"
  done
}

networks_round() {
  local round=$1 name batch value
  for name in "${networks[@]}"; do
    for batch in $(network_batches "$name"); do network_steps "$round" "$name" "$batch"; done
    for batch in 1 32; do network_invokes "$round" "$name" "$batch"; done
  done
  for value in 16 32 64 128; do convolutions "$round" channels $value 32 --channels $value; done
  for value in 16 32 64; do convolutions "$round" image $value 32 --image $value; done
  for value in 8 32 128; do convolutions "$round" batch $value $value; done
}
