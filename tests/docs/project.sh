#!/usr/bin/env bash
# docs/tutorial.md: a project of a user's own is built with the lines of CMake that the page shows, against what
# is installed.
# Usage: project.sh <source folder> <build folder> <work folder> <cmake> <generator> <compiler> <flags>
set -euo pipefail
source=$1 build=$2 work=$3 cmake=$4 generator=$5 compiler=$6 flags=${7:-}
page=docs/tutorial.md
cd "$source"
. tests/docs/blocks.sh

rm -rf "$work"
mkdir -p "$work/project"
"$cmake" --install "$build" --prefix "$work/octet" >/dev/null
{
  echo 'cmake_minimum_required(VERSION 3.22)'
  echo 'project(digits LANGUAGES CXX)'
  take cmake
} >"$work/project/CMakeLists.txt"
cp "$source/examples/quickstart.cpp" "$work/project/"
"$cmake" -G "$generator" -S "$work/project" -B "$work/project/build" "-DCMAKE_PREFIX_PATH=$work/octet" \
  "-DCMAKE_CXX_COMPILER=$compiler" "-DCMAKE_CXX_FLAGS=$flags" -DCMAKE_BUILD_TYPE=Release
"$cmake" --build "$work/project/build"
