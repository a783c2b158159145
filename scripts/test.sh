#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. Options go to ctest: `-L quick` for those of core and
# layers, which take a minute, `-R NAME` for some.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

octet_install octet_runtime_requirements octet_requirements octet_test_requirements
octet_install octet_interop_requirements || true
octet_install octet_python_requirements || true
octet_install octet_java_requirements || true
octet_timed build octet_build release all -DOCTET_BUILD_TESTS=ON -DOCTET_MPI="$(octet_mpi)"
[ -n "${OCTET_MNIST_DIR:-}" ] ||
  echo "octet: OCTET_MNIST_DIR is not set; tests on the real MNIST will be skipped"
[ -n "${OCTET_MLPERF_DIR:-}" ] ||
  echo "octet: OCTET_MLPERF_DIR is not set; the networks of MLPerf Tiny will be skipped"
[ -n "${OCTET_MODELS_DIR:-}" ] ||
  echo "octet: OCTET_MODELS_DIR is not set; networks of others that carry states will be skipped"
status=0
octet_timed tests ctest --preset release --parallel "$(nproc)" "$@" || status=$?
# A suite that skips some of its tests has passed: here is which.
grep -hE '^\[  SKIPPED \] [^ ]+\.[^ ]+ \(' build/release/Testing/Temporary/LastTest.log || true
skipped=build/release/tests/interop/packages/skipped
[ ! -f "$skipped" ] || echo "octet: $(cat "$skipped")"
tail -2 build/times | awk '{ printf "octet: %s: %d s, %d CPU s\n", $1, $2, $3 }'
exit "$status"
