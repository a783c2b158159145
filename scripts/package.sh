#!/usr/bin/env bash
# package.sh: builds, makes the Debian package by CPack in build/package, unpacks it into an empty root and tries what is
# in it: the tool trains on a CSV file and predicts, its pages are there, and a program is compiled against the library
# with the root's pkg-config files. Where the user may change to that root, the tool runs in it, with the libraries
# that it loads and nothing else of this machine. OCTET_BUILD: a build folder to take instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh
build=${OCTET_BUILD:-}
if [ -z "$build" ]; then
  octet_install octet_runtime_requirements octet_requirements
  octet_build release "all" -DOCTET_BUILD_TESTS=OFF
  build=$PWD/build/release
fi
folder=$PWD/build/package
rm -rf "$folder"
mkdir -p "$folder"
cpack -G DEB --config "$build/CPackConfig.cmake" -B "$folder" >"$folder/cpack.log" 2>&1 ||
  { tail -20 "$folder/cpack.log" >&2; exit 1; }
package=$(find "$folder" -maxdepth 1 -name '*.deb')
root=$folder/root
dpkg-deb -x "$package" "$root"
for field in Package Version Depends; do
  [ -n "$(dpkg-deb -f "$package" "$field")" ] || { echo "package: no $field" >&2; exit 1; }
done
for file in bin/octet share/man/man1/octet.1 share/man/man1/octet-train.1 \
  share/bash-completion/completions/octet share/zsh/site-functions/_octet include/octet/octet.h \
  share/doc/octet/LICENSE share/doc/octet/llms.txt share/doc/octet/docs/tutorial.md share/doc/octet/examples/quickstart.cpp; do
  [ -s "$root/usr/$file" ] || { echo "package: /usr/$file is not in it" >&2; exit 1; }
done

work=$root/work
mkdir "$work"
cd "$work"
awk -v OFS=, 'BEGIN { srand(1); print "x,y,kind"; for (i = 0; i < 200; ++i) {
  k = i % 2; print rand() + k, rand() - k, k ? "up" : "down" } }' >points.csv
octet=("$root/usr/bin/octet") at=$work
if [ "$(id -u)" = 0 ]; then
  for library in $(ldd "$root/usr/bin/octet" | grep -o '/[^ ]*'); do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done
  octet=(chroot "$root" /usr/bin/octet) at=/work
fi
"${octet[@]}" --version
"${octet[@]}" train --data "$at/points.csv" --split 0.8 --normalize --hidden 8 --epochs 20 --qat-epochs 1 --batch 16 \
  --lr 0.01 --out "$at/run" --no-progress >train.log
"${octet[@]}" eval "$at/run/model_int8.tflite" --data "$at/points.csv"
"${octet[@]}" predict "$at/run/model_int8.tflite" "$at/points.csv" --top 1 | sed -n 1,2p
cat >program.cpp <<'CODE'
#include <octet/octet.h>
#include <cstdio>
int main() {
  const octet::DataSplit digits = octet::make_digits(0, 20, 10);
  std::printf("%zu digits\n", digits.train.size());
}
CODE
pc=$(dirname "$(find "$root/usr" -name octet.pc)")
# shellcheck disable=SC2046
"${CXX:-c++}" -std=c++20 program.cpp -o program $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs octet)
./program
echo "$(basename "$package"): $(stat -c %s "$package") bytes"
