#!/usr/bin/env bash
# Installs what is missing, builds, and runs the MNIST example with the options given.
set -euo pipefail
start=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

octet_install octet_runtime_requirements octet_requirements
octet_build release mnist_qat -DOCTET_BUILD_TESTS=OFF
program=$PWD/build/release/bin/mnist_qat
cd "$start"
exec "$program" "$@"
