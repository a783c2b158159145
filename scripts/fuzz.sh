#!/usr/bin/env bash
# fuzz.sh SECONDS [TARGET...]: builds the libFuzzer targets and runs them one after the other, the
# time shared equally. New inputs grow in build/fuzz/corpus, finds are kept in build/fuzz/finds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

if [ $# -lt 1 ] || ! [[ $1 =~ ^[0-9]+$ ]]; then
  echo "usage: scripts/fuzz.sh SECONDS [TARGET...]" >&2
  exit 2
fi
seconds=$1
shift
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for folder in tests/fuzz/corpus/*/; do targets+=("$(basename "$folder")"); done
fi
share=$((seconds / ${#targets[@]}))
[ "$share" -ge 1 ] || share=1

octet_install octet_runtime_requirements octet_requirements octet_test_requirements \
  octet_clang_requirements
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --parallel "$(nproc)" --target "${targets[@]/#/fuzz_}"

finds=build/fuzz/finds
mkdir -p "$finds"
status=0
for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target
  mkdir -p "$corpus"
  log=build/fuzz/$target.log
  # Messages of what is fuzzed are of no interest (close_fd_mask). An input may take 10 seconds and
  # a single allocation 128 MiB: no small file asks for more.
  if ! OMP_NUM_THREADS=1 "build/fuzz/bin/fuzz_$target" "$corpus" "tests/fuzz/corpus/$target" \
    -max_total_time="$share" -timeout=10 -malloc_limit_mb=128 -rss_limit_mb=2048 -max_len=8192 \
    -close_fd_mask=3 -print_final_stats=1 -artifact_prefix="$finds/$target-" >"$log" 2>&1; then
    echo "$target: FOUND something, see $log and $finds"
    octet_explain "$log"
    status=1
  fi
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  coverage=$(grep -o 'cov: [0-9]* ft: [0-9]*' "$log" | tail -1)
  echo "$target: $share s, ${runs:-?} executions, ${coverage:-no coverage}"
done
exit "$status"
