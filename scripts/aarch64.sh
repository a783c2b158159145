#!/usr/bin/env bash
# Cross-compiles octet::runtime for AArch64 and runs its tests on every code path under qemu-user.
# Prints one line with the result; where it fails, the end of the log too.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

begin=$SECONDS
log=$PWD/build/aarch64.log
mkdir -p build
if ! octet_install octet_runtime_requirements octet_aarch64_requirements >"$log" 2>&1; then
  tail -20 "$log"
  echo "aarch64: FAILED: no cross compiler or emulator, and they could not be installed;" \
    "on Debian or Ubuntu: apt-get install g++-aarch64-linux-gnu qemu-user googletest"
  exit 1
fi
# The second run is on a processor without dot products: a wrong choice would end it.
check() {
  octet_build aarch64 all &&
    ctest --preset aarch64 --parallel 2 &&
    qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu build/aarch64/bin/runtime_tests \
      --gtest_list_tests | grep 'neon_dotprod' &&
    timeout 100 qemu-aarch64 -cpu cortex-a53 -L /usr/aarch64-linux-gnu \
      build/aarch64/bin/runtime_tests --gtest_brief=1 --gtest_filter='Interpreter.*:*SameBytes*-*BlocksOfALargeBatch*'
}
if check >"$log" 2>&1; then
  echo "aarch64: passed in $((SECONDS - begin)) s: kernels and interpreter on portable, neon, neon_dotprod"
else
  echo "aarch64: FAILED after $((SECONDS - begin)) s, see $log"
  tail -60 "$log"
  exit 1
fi
