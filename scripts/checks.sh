#!/usr/bin/env bash
# checks.sh [JOB...]: what scripts/test.sh does not see. All jobs unless some are named:
#   clang     Clang, warnings as errors, with AddressSanitizer and UndefinedBehaviorSanitizer
#   coverage  lines and branches of core/quant, runtime and deploy that the tests of `clang` reach
#   threads   ThreadSanitizer over what runs on several threads
#   tidy      clang-tidy over files that are new or changed
#   aarch64   the runtime cross-compiled for AArch64, its kernels and interpreter under qemu-user
# Each prints one line. One that fails fails the script, and the end of its log is shown.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

jobs=("$@")
[ ${#jobs[@]} -gt 0 ] || jobs=(clang coverage threads tidy aarch64)
logs=$PWD/build/checks-logs
mkdir -p "$logs"
octet_install octet_runtime_requirements octet_requirements octet_test_requirements \
  octet_clang_requirements || exit 1
export OMP_WAIT_POLICY=passive
export LSAN_OPTIONS=suppressions=$PWD/scripts/lsan.supp:print_suppressions=0
# Coverage tells files by their path: no object that a cache made in another folder.
export CCACHE_BASEDIR= CCACHE_HASHDIR=1

tested=(deploy_tests core_tests robustness_tests)
profiles=$PWD/build/checks/profiles
least_lines=95
most_tidied=12

# run_tests FOLDER BINARY...: each in a process, two at once on two processors.
run_tests() {
  local folder=$1
  shift
  printf '%s\n' "$@" | xargs -P "$(nproc)" -I '{}' sh -c \
    "timeout 1200 $folder/bin/{} --gtest_brief=1 >$logs/{}.log 2>&1 || { tail -40 $logs/{}.log; exit 255; }"
}

job_clang() {
  rm -rf "$profiles"
  cmake --preset checks &&
    cmake --build --preset checks --parallel "$(nproc)" --target "${tested[@]}" fuzz_replay || return
  # A profile a binary, to which its processes add what they have seen.
  export LLVM_PROFILE_FILE="$profiles/%m.profraw"
  run_tests build/checks "${tested[@]}" &&
    timeout 600 build/checks/bin/fuzz_replay tests/fuzz/corpus &&
    summary="${#tested[@]} test binaries and the fuzz corpora"
}

job_coverage() {
  local all=$profiles/all.profdata objects=() binary
  for binary in "${tested[@]:1}"; do objects+=(-object "build/checks/bin/$binary"); done
  "$(octet_llvm llvm-profdata)" merge -o "$all" "$profiles"/*.profraw &&
    "$(octet_llvm llvm-cov)" report "build/checks/bin/${tested[0]}" "${objects[@]}" \
      -instr-profile="$all" "$PWD/core/quant" "$PWD/runtime" "$PWD/deploy" >"$logs/coverage.txt" || return
  cat "$logs/coverage.txt"
  local lines branches
  read -r lines branches < <(awk '$1 == "TOTAL" { print $10, $13 }' "$logs/coverage.txt")
  summary="core/quant, runtime and deploy: $lines of lines, $branches of branches (goal: $least_lines % of lines)"
  awk -v found="${lines%\%}" -v least="$least_lines" 'BEGIN { exit !(found >= least) }'
}

# OpenMP's own library is not instrumented, so that ThreadSanitizer cannot see that a parallel loop
# ends before what follows it, and would report races that are none. LLVM's archer tells it: a tool
# that OpenMP's library loads. What is left is checked as it is shipped, on OpenMP threads.
job_threads() {
  cmake --preset tsan &&
    cmake --build --preset tsan --parallel "$(nproc)" --target threads_tests || return
  OMP_TOOL_LIBRARIES=$(octet_llvm_library libarcher.so) TSAN_OPTIONS=ignore_noninstrumented_modules=1 \
    run_tests build/tsan threads_tests && summary="threads_tests"
}

# Against what the main branch had; on the main branch itself, what the last commit changed.
changed_sources() {
  local base
  base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main 2>/dev/null) || base=
  if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then
    base=$(git rev-parse --verify -q HEAD~1) || return 0
  fi
  git diff --name-only --diff-filter=d "$base" HEAD -- '*.cpp' | while read -r file; do
    ! grep -q "\"[^\"]*/$file\"" build/release/compile_commands.json || echo "$file"
  done
}

job_tidy() {
  [ -f build/release/compile_commands.json ] || cmake --preset release || return
  local files=()
  mapfile -t files < <(changed_sources)
  summary="${#files[@]} files"
  if [ ${#files[@]} -gt "$most_tidied" ]; then
    summary="the first $most_tidied of ${#files[@]} files"
    files=("${files[@]:0:$most_tidied}")
  fi
  [ ${#files[@]} -eq 0 ] ||
    printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy -p build/release --quiet \
      --warnings-as-errors='*'
}

job_aarch64() {
  scripts/aarch64.sh && summary="kernels and interpreter on portable, neon, neon_dotprod"
}

status=0
for job in "${jobs[@]}"; do
  begin=$SECONDS
  summary=
  if "job_$job" >"$logs/$job.log" 2>&1; then
    echo "checks: $job: passed in $((SECONDS - begin)) s: $summary"
  else
    echo "checks: $job: FAILED after $((SECONDS - begin)) s, see $logs/$job.log ${summary}"
    tail -60 "$logs/$job.log"
    octet_explain "$logs/$job.log"
    status=1
  fi
done
exit "$status"
