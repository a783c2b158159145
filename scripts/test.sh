#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

octet_install octet_requirements octet_test_requirements
octet_build release -DOCTET_BUILD_TESTS=ON
[ -n "${OCTET_MNIST_DIR:-}" ] ||
  echo "octet: OCTET_MNIST_DIR is not set; tests on the real MNIST will be skipped"
ctest --preset release --parallel "$(nproc)" "$@"
