#!/usr/bin/env bash
# checks.sh [JOB...]: what scripts/test.sh does not see. All jobs unless some are named:
#   clang     everything built with Clang, warnings as errors; every test binary under AddressSanitizer
#             and UndefinedBehaviorSanitizer
#   coverage  lines and branches of core/quant, runtime and deploy that the tests of `clang` reach
#   threads   ThreadSanitizer over what runs on several threads, and over ranks of MPI
#   alone     every source of the libraries and programs compiles without those that other builds
#             compile together with it, and every installed header by itself; only syntax and warnings
#   format    clang-format over all sources
#   tidy      clang-tidy over files that are new or changed
#   aarch64   the runtime cross-compiled for AArch64, its kernels and interpreter under qemu-user
#   libcxx    libraries, programs and tests with Clang and libc++, the standard library of macOS, which checks indices;
#             what mnist_qat trains, byte for byte with the release build; examples and what changed by their syntax
#   microcontroller
#             the C source of two networks on a Cortex-M4 under qemu, and of three on four processors, byte for
#             byte, in as many instructions as are recorded
#   site      the site that Doxygen makes of the documentation, without warnings and links that lead nowhere
# Each ends in a line with its seconds and CPU seconds. One that fails fails the script; the lines of its
# log that say what failed are shown, with those around them, and its end.
#
# OCTET_CHECK_SECONDS, where it is set, is the time for all jobs. Each has a share of it, and what does
# not fit is left out by name. A job that is named on the command line without it runs whole.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

jobs=("$@")
[ ${#jobs[@]} -gt 0 ] || jobs=(format tidy site aarch64 microcontroller threads clang coverage alone libcxx)
# What a job may take of the time that is left when it begins, in parts of those of all that follow it.
declare -A shares=([clang]=90 [coverage]=4 [format]=3 [threads]=45 [alone]=8 [tidy]=15 [aarch64]=15
  [libcxx]=24 [microcontroller]=8 [site]=7)
deadline=$((EPOCHSECONDS + ${OCTET_CHECK_SECONDS:-1000000}))
logs=$PWD/build/checks-logs
mkdir -p "$logs"
octet_install octet_runtime_requirements octet_requirements octet_test_requirements \
  octet_bench_requirements octet_clang_requirements || exit 1
mpi=$(octet_mpi)
export OMP_WAIT_POLICY=passive
export LSAN_OPTIONS=suppressions=$PWD/scripts/lsan.supp:print_suppressions=0
# Coverage tells files by their path: no object that a cache made in another folder.
export CCACHE_BASEDIR= CCACHE_HASHDIR=1

# The binaries whose tests have to reach core/quant, runtime and deploy.
measured=(core_tests deploy_tests import_tests robustness_tests)
profiles=$PWD/build/checks/profiles
least_lines=95
# Parts that a binary's tests are run in, so that two processors share them.
parts=4

# left_out WHAT: says that a job had no time for it.
left_out() {
  echo "$job: $*" >>"$logs/left_out"
  echo "left out for want of time: $*"
}

# seconds_left: what the job may still take.
seconds_left() { echo $((job_until > EPOCHSECONDS ? job_until - EPOCHSECONDS : 0)); }

# build PRESET TARGET [cmake options]: as octet_build() does, within the time of the job. Where that is
# over the build is left out, with what needs it, and the status is 75.
build() {
  local status=0
  timeout "$(($(seconds_left) + 1))" bash -c '. scripts/common.sh && octet_build "$@"' build "$@" || status=$?
  [ "$status" -eq 124 ] || return "$status"
  left_out "what $1 builds, and its tests"
  return 75
}

# run_tests FOLDER BINARY...: every binary in parts, two processes at once on two processors.
run_tests() {
  local folder=$1 binary part
  shift
  for binary; do
    for ((part = 0; part < parts; ++part)); do echo "$binary $part"; done
  done | xargs -P "$(nproc)" -n 2 bash -c '
    folder=$1 logs=$2 parts=$3 binary=$4 part=$5 begin=$SECONDS
    log=$logs/$binary-$part.log limit=$(seconds_left)
    [ "$limit" -lt 1200 ] || limit=1200
    export GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$part
    status=0
    timeout "$((limit + 1))" "$folder/bin/$binary" --gtest_brief=1 >"$log" 2>&1 || status=$?
    if [ "$status" -eq 0 ]; then
      echo "$binary, part $part of $parts: $((SECONDS - begin)) s"
    elif [ "$status" -eq 124 ] && [ "$limit" -lt 1200 ]; then
      left_out "$binary, part $part of $parts"
    else
      tail -40 "$log"
      echo "$binary, part $part of $parts: FAILED with $status after $((SECONDS - begin)) s, see $log"
      exit 1
    fi' run_tests "$folder" "$logs" "$parts"
}

job_clang() {
  rm -rf "$profiles"
  build checks all -DOCTET_MPI="$mpi" || return
  local all=() other=() binary status=0
  mapfile -t all <build/checks/test_binaries
  for binary in "${all[@]}"; do
    [[ " ${measured[*]} " == *" $binary "* ]] || other+=("$binary")
  done
  # Drawn digits are enough here: scripts/test.sh trains on MNIST itself.
  unset OCTET_MNIST_DIR
  # Sanitizers look at what writes C source; which compilers take it is scripts/test.sh's.
  export OCTET_ONE_C_COMPILER=1
  # A profile a binary, to which its processes add what they have seen.
  LLVM_PROFILE_FILE="$profiles/%m.profraw" run_tests build/checks "${measured[@]}" || status=1
  grep -q '^clang: ' "$logs/left_out" || : >"$profiles/complete"
  LLVM_PROFILE_FILE=/dev/null timeout 600 build/checks/bin/fuzz_replay tests/fuzz/corpus || status=1
  LLVM_PROFILE_FILE=/dev/null run_tests build/checks "${other[@]}" || status=1
  summary="under ASan and UBSan: ${all[*]}, and the fuzz corpora"
  return "$status"
}

job_coverage() {
  if [ ! -e "$profiles/complete" ]; then
    left_out "the tests of the job clang were not all run"
    return 75
  fi
  local all=$profiles/all.profdata objects=() binary
  for binary in "${measured[@]:1}"; do objects+=(-object "build/checks/bin/$binary"); done
  "$(octet_llvm llvm-profdata)" merge -o "$all" "$profiles"/*.profraw &&
    "$(octet_llvm llvm-cov)" report "build/checks/bin/${measured[0]}" "${objects[@]}" \
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
# MPI's own libraries are not instrumented either.
job_threads() {
  local binaries=(threads_tests)
  [ "$mpi" = OFF ] || binaries+=(mpi_tests)
  build tsan "${binaries[*]}" -DOCTET_MPI="$mpi" || return
  # Ranks that are killed are a matter of processes, which the job clang sees to.
  GTEST_FILTER='-*Killed*' OMP_TOOL_LIBRARIES=$(octet_llvm_library libarcher.so) TSAN_OPTIONS=ignore_noninstrumented_modules=1 \
    run_tests build/tsan "${binaries[@]}" && summary="under TSan: ${binaries[*]}"
}

job_format() {
  local sources=()
  mapfile -t sources < <(git ls-files '*.cpp' '*.h')
  clang-format --dry-run -Werror "${sources[@]}" &&
    summary="${#sources[@]} sources are as .clang-format says"
}

# What clang-tidy compares with: OCTET_TIDY_BASE where it is set, else the main branch or, on the main
# branch itself, the commit before the last.
tidy_base() {
  local base=${OCTET_TIDY_BASE:-}
  [ -n "$base" ] || base=$(git merge-base HEAD origin/main 2>/dev/null) ||
    base=$(git merge-base HEAD main 2>/dev/null) || base=
  if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then
    base=$(git rev-parse --verify -q HEAD~1) || base=$(git hash-object -t tree /dev/null)
  fi
  echo "$base"
}

# The command of compile_commands.json that compiles a file, empty where none does.
compile_command() {
  grep -F -B 1 -m 1 "\"file\": \"$PWD/$1\"" "$compile_commands" |
    sed -n 's/^ *"command": "\(.*\)",$/\1/p' | sed 's/\\\(.\)/\1/g'
}

# Sources that differ from the base, and for each header that differs, and that none of them includes,
# a source that does: clang-tidy looks into headers from there.
changed_sources() {
  local base=$1 changed=() sources=() headers=() file source
  # What changed last comes first.
  mapfile -t changed < <(git log --format= --name-only "$base..HEAD" -- '*.cpp' '*.h' |
    awk '!seen[$0]++' | while read -r file; do [ ! -e "$file" ] || echo "$file"; done)
  for file in "${changed[@]}"; do
    case $file in
      *.cpp) [ -z "$(compile_command "$file")" ] || sources+=("$file") ;;
      *) headers+=("$file") ;;
    esac
  done
  for file in "${headers[@]}"; do
    [ ${#sources[@]} -eq 0 ] ||
      ! grep -qE "^#include [<\"](octet/$file|${file##*/})[>\"]" "${sources[@]}" || continue
    for source in $(git grep -lE "^#include [<\"](octet/$file|${file##*/})[>\"]" -- '*.cpp'); do
      if [ -n "$(compile_command "$source")" ]; then
        sources+=("$source")
        break
      fi
    done
  done
  [ ${#sources[@]} -eq 0 ] || printf '%s\n' "${sources[@]}"
}

# tidy FILE: nothing to do where clang-tidy has found it clean before, with all that it includes, and
# nothing more once the time is over.
tidy() {
  local preprocess key
  if [ "$(seconds_left)" -eq 0 ]; then
    left_out "$1"
    return
  fi
  preprocess=$(compile_command "$1" | sed 's/^[^ ]*ccache //; s/^[^ ]*/clang++/; s/ -o [^ ]*//')
  key=$tidied/$({
    clang-tidy --version
    cat .clang-tidy
    echo "$1"
    # Comments and macros too: a comment may be NOLINT. What cannot be read is not remembered.
    bash -c "cd build/tidy && $preprocess -w -E -dD -CC" || date +%s%N
  } | sha256sum | cut -d ' ' -f 1)
  if [ ! -e "$key" ]; then
    clang-tidy -p build/tidy --quiet --warnings-as-errors='*' "$1" && : >"$key"
  fi
}

job_alone() {
  build tidy "octet_tflite_schema octet_onnx_schema" || return
  local status=0 files
  timeout "$(($(seconds_left) + 1))" tests/rooms/headers.sh "$PWD/build/tidy" /usr/include/eigen3 || status=$?
  [ "$status" -ne 124 ] || left_out "the installed headers"
  [ "$status" -eq 0 ] || [ "$status" -eq 124 ] || return
  changed_and 'core/*.cpp' 'frontend/*.cpp' 'runtime/*.cpp' 'layers/*.cpp' 'deploy/*.cpp' 'train/*.cpp' 'compress/*.cpp' \
    'import/*.cpp' 'report/*.cpp' 'command_line/*.cpp' 'application/*.cpp' 'tools/*.cpp' 'examples/*.cpp'
  each_alone clang++
}

# changed_and PATTERN...: sets `files` to the sources that changed, and after them those of the patterns.
changed_and() {
  mapfile -t files < <({
    git diff --name-only "$(tidy_base)" -- '*.cpp'
    git ls-files "$@"
  } | awk '!seen[$0]++')
}

# each_alone COMPILER OPTION...: the syntax of each of `files` by itself.
each_alone() {
  printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -I {} bash -c 'alone "$@"' alone {} "$@" || return
  summary="${#files[@]} sources"
}

# alone FILE COMPILER OPTION...: compiles it without writing anything, where compile_commands.json knows it.
alone() {
  local file=$1 command
  shift
  if [ "$(seconds_left)" -eq 0 ]; then
    left_out "$file"
    return
  fi
  command=$(compile_command "$file" | sed 's/^[^ ]*ccache //; s/^[^ ]* //')
  [ -z "$command" ] || bash -c "cd build/tidy && $* -fsyntax-only $command"
}

job_tidy() {
  tidied=$PWD/build/tidy/tidied
  # The sources that others are generated from are compiled nowhere else.
  build tidy "octet_tflite_schema octet_onnx_schema" || return
  mkdir -p "$tidied"
  local base files=() known
  base=$(tidy_base) || return
  mapfile -t files < <(changed_sources "$base")
  known=$(find "$tidied" -type f | wc -l)
  export tidied
  [ ${#files[@]} -eq 0 ] ||
    printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 bash -c 'tidy "$1"' tidy || return
  summary="${#files[@]} files that differ from ${base:0:8}, $known known to be clean before"
}

job_aarch64() {
  scripts/aarch64.sh && summary="kernels and interpreter on portable, neon, neon_dotprod"
}

job_libcxx() {
  local files
  octet_install octet_libcxx_requirements && octet_source libprotobuf-dev build/protobuf || return
  local tests=(core_tests runtime_tests)
  build libcxx "octet_tool mnist_qat ${tests[*]}" "-DOCTET_PROTOBUF_SOURCE=$PWD/build/protobuf" || return
  # Not the tests of arithmetic alone: no library changes it, and without optimization they take most of the time.
  GTEST_FILTER='-*Isa/*:*Paths*:MseClip*' run_tests build/libcxx "${tests[@]}" && build release "mnist_qat octet_tool" && libcxx_bytes || return
  build tidy "octet_tflite_schema octet_onnx_schema" || return
  changed_and 'examples/*.cpp'
  each_alone clang++ -nostdinc++ -isystem /usr/lib/llvm-16/include/c++/v1 -DFMT_HEADER_ONLY || return
  summary="${tests[*]}, a training with the same bytes, and the syntax of $summary"
}

# Trains on drawn digits and exports ONNX with libc++ and in the release build; then reads both kinds of models.
libcxx_bytes() {
  local out=$PWD/build/libcxx/digits preset
  rm -rf "$out" && mkdir "$out" || return
  for preset in release libcxx; do
    OCTET_MNIST_DIR='' "build/$preset/bin/mnist_qat" --epochs 1 --qat-epochs 1 --hidden 32,16 --no-progress \
      --out "$out/$preset" | sed -n '/^SHA-256$/,/^$/p' >"$out/$preset.sha256" &&
      "build/$preset/bin/octet" export "$out/$preset/mnist_float.tflite" --onnx "$out/$preset.onnx" || return
  done
  [ -s "$out/libcxx.sha256" ] && diff "$out/release.sha256" "$out/libcxx.sha256" &&
    cmp "$out/release.onnx" "$out/libcxx.onnx" || { echo "libc++: FAILED with other bytes"; return 1; }
  build/libcxx/bin/octet import "$out/libcxx.onnx" --out "$out/imported" &&
    build/libcxx/bin/octet verify "$out/libcxx/mnist_int8.tflite" "$out/libcxx/mnist_int8.c"
}

job_microcontroller() {
  scripts/microcontroller.sh && scripts/microcontroller_table.sh --check &&
    summary="the C source of an MLP, of LeNet-5, and of three networks on all cores whose compilers are here, 0 bytes differ"
}

job_site() {
  octet_install octet_site_requirements && build release docs -DOCTET_BUILD_TESTS=ON 2>&1 | tee "$logs/doxygen.txt" &&
    ! grep -q ' warning: ' "$logs/doxygen.txt" &&
    tests/rooms/site.sh build/release/docs/html | tee "$logs/site.txt" || return
  summary=$(tail -1 "$logs/site.txt")
}

# What compilers, tests, sanitizers and run_tests write where they fail.
failures='(: error:|^\[  FAILED  \]|: Failure$|: FAILED with|^==[0-9]+==ERROR|: runtime error: |WARNING: ThreadSanitizer)'

# In a shell of its own, so that the log and the CPU seconds are the job's.
logged() {
  exec >"$logs/$job.log" 2>&1
  summary=
  local status=0
  "job_$job" || status=$?
  echo "$summary" >"$logs/$job.summary"
  return "$status"
}

# run_job JOB: says how it ended.
run_job() {
  job=$1
  local status=0 taken
  octet_timed "$job" logged || status=$?
  taken=$(awk -v job="$job" '$1 == job { taken = $2 " s, " $3 " CPU s" } END { print taken }' build/times)
  case $status in
    0) echo "checks: $job: passed in $taken: $(cat "$logs/$job.summary")" ;;
    75) status=0 ;;
    77) tail -1 "$logs/$job.log" && status=0 ;;
    *)
      echo "checks: $job: FAILED after $taken, see $logs/$job.log"
      # A failed test may stand far above the end: other binaries run after it.
      grep -nE -B 12 -A 6 "$failures" "$logs/$job.log" | head -200
      echo "checks: $job: the end of its log:"
      tail -20 "$logs/$job.log"
      octet_explain "$logs/$job.log"
      ;;
  esac
  return "$status"
}

# run_jobs JOB...: one after the other, each with its share of the time that is left.
run_jobs() {
  local sum=0 status=0 name
  for name; do sum=$((sum + shares[$name])); done
  for name; do
    job_until=$((EPOCHSECONDS + (deadline - EPOCHSECONDS) * shares[$name] / sum))
    sum=$((sum - shares[$name]))
    run_job "$name" || status=1
  done
  return "$status"
}

compile_commands=$PWD/build/tidy/compile_commands.json
export logs job job_until compile_commands
export -f left_out seconds_left compile_command alone tidy
rm -f "$logs/left_out"
: >"$logs/left_out"
status=0
run_jobs "${jobs[@]}" || status=1
# Of many files of one job the first, and where all of them stand.
awk -v all="$logs/left_out" '++seen[$1] <= 8 { print "octet: left out for want of time: " $0 }
  END { for (job in seen) if (seen[job] > 8) print "octet: left out for want of time: " job, seen[job] - 8, "more, see", all }
' "$logs/left_out"
exit "$status"
