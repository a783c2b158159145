#!/usr/bin/env bash
# docs/howto/onnxruntime.md: its commands make files, and its JavaScript, Python and C++ classify digits with
# them as `octet run` does. The JavaScript runs as it is, in ONNX Runtime for Node; for Python and C++, whose
# ONNX Runtime Debian does not have, the stand-ins in onnxruntime/ hand the work to it.
# Usage: onnxruntime.sh <source folder> <what prepare.sh made> <work folder> <bin folder> <npm packages>
#        <compiler>
set -euo pipefail
source=$1 given=$2 work=$3 bin=$4 packages=$5 compiler=$6
page=docs/howto/onnxruntime.md
cd "$source"
. tests/docs/blocks.sh
if [ ! -f "$packages/installed" ]; then
  skip "$(cat "$packages/skipped" 2>/dev/null || echo "there are no packages: run the test interop_packages")"
fi

rm -rf "$work"
mkdir -p "$work"
cd "$work"
cp "$given/model_int8.tflite" "$given/pixels" .
{ echo "set -eux" && take sh; } >export.sh
PATH=$bin:$PATH bash export.sh
head -n 5 "$given/classes" >five_classes

# The import stays where it has to be; the rest runs for each image.
ln -s "$packages/node_modules" node_modules
take js >page.mjs
{
  grep '^import ' page.mjs
  cat <<'JS'
import fs from 'node:fs';
const bytes = fs.readFileSync('pixels');
for (let first = 0; first < bytes.length; first += 784) {
  const pixels = Float32Array.from(bytes.subarray(first, first + 784), (byte) => byte / 255);
JS
  grep -v '^import ' page.mjs
  echo "}"
} >classify.mjs
node classify.mjs >classes_of_js
same "ONNX Runtime for Node, by the page's JavaScript" "$given/classes" classes_of_js

take c++ >page.cpp
{
  cat <<'CPP'
#include "onnxruntime_cxx_api.h"
#include <algorithm>
void classify(std::vector<float>& pixels) {
CPP
  cat page.cpp
  cat <<'CPP'
  std::printf("%d\n", static_cast<int>(std::max_element(scores, scores + 10) - scores));
}
int main() {
  std::vector<float> pixels(784);
  for (int image = 0; image < 5; ++image) {
    for (float& pixel : pixels) pixel = static_cast<float>(std::getchar()) / 255.0F;
    classify(pixels);
  }
}
CPP
} >classify.cpp
"$compiler" -std=c++20 -Wall -Wextra -Werror -I "$source/tests/docs/onnxruntime" classify.cpp -o classify
OCTET_ONNX_RUN="node $source/tests/docs/onnxruntime/run.mjs $packages" "$work/classify" <pixels >classes_of_cpp
same "the page's C++, on a stand-in for ONNX Runtime's header" five_classes classes_of_cpp

take python >page.py
[ -e /usr/lib/python3/dist-packages/numpy/__init__.py ] ||
  skip "the Python: there is no NumPy (on Debian: apt-get install python3-numpy)"
{
  cat <<'PYTHON'
import numpy
pixels = numpy.fromfile("pixels", numpy.uint8).reshape(-1, 784) / 255
PYTHON
  cat page.py
} >classify.py
OCTET_INTEROP_PACKAGES=$packages PYTHONPATH=$source/tests/docs/onnxruntime PYTHONDONTWRITEBYTECODE=1 \
  /usr/bin/python3 classify.py | tr -d '[]\n' | xargs -n 1 >classes_of_python
same "the page's Python, on a stand-in for the module onnxruntime" "$given/classes" classes_of_python
