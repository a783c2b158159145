#!/usr/bin/env bash
# Training on several ranks of MPI against threads of one process, and PyTorch's
# DistributedDataParallel on as many processes where python3-torch is installed. Needs a build with
# -DOCTET_MPI=ON. Prints, for each batch, images per second of epochs in float; every line is the
# best of ROUNDS, one after the other in turn. Usage: bench_ranks.sh [<network> [ROUNDS]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
network=${1:-mlp}
rounds=${2:-3}
# An epoch of a convolutional network is long enough by itself.
epochs=1
[ "$network" != mlp ] || epochs=2
program=build/release/bin/mnist_qat
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# images_per_second RANKS THREADS BATCH SHARDS: of the last epoch.
images_per_second() {
  local ranks=$1 threads=$2 batch=$3 shards=$4 launcher=()
  [ "$ranks" = 1 ] || launcher=(mpirun -np "$ranks")
  "${launcher[@]}" "$program" --network "$network" --out "$out/run" --epochs "$epochs" --qat-epochs 0 \
    --threads "$threads" --batch "$batch" --shards "$shards" --no-progress |
    sed -n 's|^float '"$epochs/$epochs"' .* \([0-9]*\) img/s.*|\1|p'
}

# torch_images_per_second RANKS BATCH
torch_images_per_second() {
  /usr/bin/python3 bench/peers/torch_ddp.py "$1" "$2" 200 |
    sed -n 's|.*"batch": \([0-9]*\), "seconds": \([0-9.e-]*\),.*|\1 \2|p' |
    awk '{ printf "%.0f\n", $1 / $2 }'
}

best() { sort -n | tail -n 1; }

for batch in 128 512; do
  lines=("1 1 1" "1 2 1" "1 2 2" "2 1 2" "1 1 8" "1 2 8" "2 1 8" "4 1 8" "8 1 8")
  for ((round = 0; round < rounds; ++round)); do
    for line in "${lines[@]}"; do
      read -r ranks threads shards <<<"$line"
      images_per_second "$ranks" "$threads" "$batch" "$shards" >>"$out/${line// /-}-$batch"
    done
    if [ "$network" = mlp ] && /usr/bin/python3 -c 'import torch' 2>/dev/null; then
      for ranks in 1 2; do
        torch_images_per_second "$ranks" "$batch" >>"$out/torch-$ranks-$batch"
      done
    fi
  done
  for line in "${lines[@]}"; do
    read -r ranks threads shards <<<"$line"
    printf 'batch %d: %d rank(s) of %d thread(s), %d shard(s): %s images/s\n' \
      "$batch" "$ranks" "$threads" "$shards" "$(best <"$out/${line// /-}-$batch")"
  done
  for ranks in 1 2; do
    [ ! -e "$out/torch-$ranks-$batch" ] ||
      printf 'batch %d: PyTorch, %d process(es): %s images/s\n' \
        "$batch" "$ranks" "$(best <"$out/torch-$ranks-$batch")"
  done
done
